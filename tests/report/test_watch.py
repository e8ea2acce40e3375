"""The page of a run that goes on: what it shows before and after the end, and how often it is written."""

import pytest
from test_page import in_browser
from views import a_run

from kernelpoint.cli import watch
from kernelpoint.cli.watch import follow, page_so_far
from kernelpoint.estimate import Estimate
from kernelpoint.journal import JournalWriter, LookRecord, PassRecord, RunRecord


@pytest.fixture
def unfinished(tmp_path):
    """A journal of two passes, whose run has not ended."""
    journal = JournalWriter(tmp_path / "run.kpjournal", resume=False)
    budget = {"counter": "cycles", "relative_error": 0.01}
    config = {"policy": "kernelpoint", "seed": 0, "error_budget": budget}
    journal.write(RunRecord(kernelpoint="0", config=config, bound="sequential", estimate="mean", launches=[9], hashes={}))
    for number, half_width in enumerate((500.0, 100.0)):
        journal.write(PassRecord(number, 1, {}))
        estimate = Estimate("", 1e4, half_width, half_width / 1e4, 50.0, 9.0, 0.95, 5e3)
        journal.write(LookRecord(number, False, {"cycles": estimate}, {}))
    journal.close()
    return tmp_path / "run.kpjournal"


def test_an_unfinished_run_has_its_intervals_and_a_browser_loads_the_page_again(unfinished):
    page, has_ended = page_so_far(unfinished)
    assert 'http-equiv="refresh" content="3"' in page and ">5.00 %</td>" in page and ">1.00 %</td>" in page
    assert not has_ended


def test_the_page_is_written_again_until_the_run_has_ended(tmp_path, monkeypatch):
    """No journal is no crash; the page of an ended run is its report, which no browser loads again."""
    journal, page, seen = tmp_path / "run.kpjournal", tmp_path / "page.html", []

    def sleep(seconds):
        seen.append((seconds, "No such file" in page.read_text()))
        if len(seen) == 2:
            a_run(journal)

    monkeypatch.setattr(watch.time, "sleep", sleep)
    said = []
    follow(journal, page, said.append)
    assert seen == [(3, True), (3, True)] and "KernelPoint, run.kpjournal" in page.read_text()
    assert 'http-equiv="refresh"' not in page.read_text()
    assert said[0].startswith(f"page: {page}") and said[1] == f"the run has ended: {page}"


def test_a_page_that_cannot_be_written_is_one_message(unfinished, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"/no/such/page\.html"):
        follow(unfinished, tmp_path / "/no/such/page.html", lambda line: None)


def test_a_browser_shows_it(unfinished, tmp_path):
    page, _ = page_so_far(unfinished)
    dom = in_browser(page.replace('<meta http-equiv="refresh" content="3">', ""), tmp_path)
    assert ">1.00 %</td>" in dom and 'data-charts="1"' in dom and 'aria-label="The interval after each pass. ' in dom
