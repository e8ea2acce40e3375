"""What holds for all tests."""

import signal

# A runner that was started in the background ignores Ctrl-C, and programs it starts would too: tests that send it need the
# usual disposition, which a handler of our own gives to every program started from here.
signal.signal(signal.SIGINT, signal.default_int_handler)
