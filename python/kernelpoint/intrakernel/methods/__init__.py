"""Methods that stop a launch inside, one file each."""
