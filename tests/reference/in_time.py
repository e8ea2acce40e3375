"""A limit on the time of what must not hang."""

import signal
from contextlib import contextmanager

SECONDS = 60  # in which a command has to end; those that hang wait for ever


@contextmanager
def in_time():
    """Raise TimeoutError in what does not end."""

    def refuse(*_):
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, refuse)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
