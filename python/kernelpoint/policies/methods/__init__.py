"""The policies that come with KernelPoint, one file each. To add one, put a file here."""
