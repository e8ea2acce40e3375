"""Progress of planning."""

import threading

from kernelpoint.progress import WorkProgress, telling


class Clock:
    """Seconds, moved by hand."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def progress(said, **options):
    clock = Clock()
    return WorkProgress("fast model", "launches", said.append, clock, **options), clock


def test_what_is_done_at_once_says_nothing():
    said = []
    shown, clock = progress(said, terminal=False)
    for done in range(10):
        clock.now += 0.1
        shown(done, 10)
    clock.now = 60
    shown(10, 10)
    assert said == []


def test_a_log_gets_a_line_now_and_then_with_the_time_left():
    said = []
    shown, clock = progress(said, terminal=False)
    for second in range(1, 31):
        clock.now = float(second)
        shown(second, 40, second / 60)
    assert said[0] == "kernelpoint: fast model: 2 of 40 launches, about 58 s left"
    assert len(said) == 3


def test_a_terminal_has_one_line_that_is_cleared(capsys):
    shown, clock = progress([], terminal=True)
    for second in range(1, 11):
        clock.now = float(second)
        shown(second, 10)
    text = capsys.readouterr().err
    assert text.count("\n") == 0
    assert "5 of 10 launches, about 5 s left" in text
    assert text.endswith("\r\033[K")


def test_work_that_cannot_be_counted_tells_how_long_it_takes_so_far():
    lines, said = [], threading.Event()

    def log(line):
        lines.append(line)
        said.set()

    with telling("drawing", log, least=0.01):
        assert said.wait(60)
    assert lines == ["kernelpoint: drawing: 0 s so far"]
    assert "kernelpoint progress" not in [thread.name for thread in threading.enumerate()]


def test_work_that_is_soon_done_says_nothing():
    lines = []
    with telling("drawing", lines.append):
        pass
    assert lines == []
