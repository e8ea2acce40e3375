"""The live page of a run: what it shows before and after the end, and whom it answers."""

import subprocess
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from test_page import CHROMIUM, FLAGS
from views import a_run

from kernelpoint.cli.live import server
from kernelpoint.journal import EstimateRecord, JournalWriter, LookRecord, PassRecord, RunRecord


@contextmanager
def live(journal):
    """Address of a server for the journal; a finished run's page is its name."""
    serving = server(journal, lambda run: f"report of {run.path.name}")
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{serving.server_address[1]}/"
    finally:
        serving.shutdown()
        serving.server_close()


def get(address: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=20) as answer:
        return answer.read().decode()


@pytest.fixture
def unfinished(tmp_path):
    """A journal of two passes, whose run has not ended."""
    journal = JournalWriter(tmp_path / "run.kpjournal", resume=False)
    budget = {"counter": "cycles", "relative_error": 0.01}
    config = {"policy": "kernelpoint", "seed": 0, "error_budget": budget}
    journal.write(
        RunRecord(kernelpoint="0", config=config, bound="sequential", estimate="mean", launches=[9], hashes={})
    )
    for number, half_width in enumerate((500.0, 100.0)):
        journal.write(PassRecord(number, 1, {}))
        estimate = EstimateRecord(1e4, half_width, half_width / 1e4, 50.0, 9.0, 0.95, 5e3)
        journal.write(LookRecord(number, False, {"cycles": estimate}, {}))
    journal.close()
    return tmp_path / "run.kpjournal"


def test_an_unfinished_run_has_its_intervals_and_the_page_reloads(unfinished):
    with live(unfinished) as address:
        page = get(address)
    assert 'http-equiv="refresh"' in page and ">5.00 %</td>" in page and ">1.00 %</td>" in page


def test_a_finished_run_has_its_report_and_no_journal_is_no_crash(tmp_path):
    with live(tmp_path / "run.kpjournal") as address:
        assert "cannot be read" in get(address) or "No such file" in get(address)
        a_run(tmp_path / "run.kpjournal")
        assert get(address) == "report of run.kpjournal"


def test_requests_for_other_hosts_or_files_are_not_answered(unfinished):
    with live(unfinished) as address:
        for place, headers in ((address, {"Host": "example.org"}), (f"{address}etc/passwd", {})):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                get(place, **headers)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_shows_it(unfinished, tmp_path):
    with live(unfinished) as address:
        command = [
            CHROMIUM,
            *FLAGS,
            f"--user-data-dir={tmp_path}/profile",
            "--virtual-time-budget=2500",
            "--dump-dom",
            address,
        ]
        dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert ">1.00 %</td>" in dom and 'data-charts="1"' in dom and 'aria-label="The interval after each pass. ' in dom
