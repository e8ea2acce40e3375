"""The embedded host in Python's own process writes what the program writes, and leaves a journal that either can go on with."""

import os

import pytest
import yaml
from embedded_host import run_host
from workloads import synthesised

import kernelpoint as kp
from kernelpoint import _native
from kernelpoint.errors import JournalError, TraceError
from kernelpoint.fast_model import shipped
from kernelpoint.journal import SummaryRecord
from kernelpoint.journal.records import plain

BUDGET = {"relative_error": 0.03}
PLACES = {"journal", "plan", "command", "config"}  # of a run: where files lie, and how it was started


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    return synthesised(tmp_path_factory.mktemp("in-process"), "iterative-solver", 80, rows=1024)


def records(path):
    """Records without what tells where a run was made."""
    return [{k: v for k, v in plain(record).items() if k not in PLACES} for record in kp.Run.load(path).records]


def by_program(traces, journal, **keys):
    """The same run by `kernelpoint-host`."""
    config = journal.with_suffix(".yaml")
    config.write_text(yaml.safe_dump({"version": 1, "journal": str(journal), **keys}))
    run_host(traces, journal.parent, None, "-kernel_sampling", config, check=True)
    return journal


@pytest.mark.parametrize(
    "keys",
    [
        {"policy": "all"},
        {"policy": "kernelpoint", "error_budget": BUDGET},
        {"policy": "kernelpoint", "clusters": "online", "error_budget": BUDGET},
        {"policy": {"name": "pka", "project": True}},
    ],
    ids=["all", "validation", "online", "stopped early and warmed up"],
)
def test_the_records_are_those_of_the_program(traces, tmp_path, keys):
    run = kp.simulate(traces, tmp_path / "here.kpjournal", **keys)
    assert records(run.path) == records(by_program(traces, tmp_path / "there.kpjournal", **keys))
    assert run.ended().launches == 80


def test_an_interrupted_run_keeps_its_results_and_either_goes_on(traces, tmp_path, monkeypatch):
    whole = kp.simulate(traces, tmp_path / "whole.kpjournal", policy="random", error_budget=BUDGET)
    walk, before_interrupt, lines = _native.fast_model.Walk, iter(range(8)), []

    class Interrupted(walk):
        def simulate(self, *given):
            if next(before_interrupt, None) is None:
                raise KeyboardInterrupt
            return super().simulate(*given)

    for number, go_on in enumerate((kp.simulate, by_program)):
        journal, before_interrupt = tmp_path / f"{number}.kpjournal", iter(range(8))
        monkeypatch.setattr(_native.fast_model, "Walk", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            kp.simulate(traces, journal, policy="random", log=lines.append, error_budget=BUDGET)
        monkeypatch.setattr(_native.fast_model, "Walk", walk)
        assert "are kept" in lines[-1]
        assert len(kp.Run.load(journal).results) == 8
        go_on(traces, journal, policy="random", error_budget=BUDGET)
        assert kp.Run.load(journal).ended() == whole.ended()


def test_a_launch_that_cannot_be_simulated_leaves_no_bound_and_the_next_ones_go_on(traces, tmp_path):
    listed = [line for line in traces.read_text().split() if "traceg" in line]
    good = traces.parent / listed[0]
    (tmp_path / "kernel-2.traceg").write_bytes(good.read_bytes()[:-200])
    os.symlink(good, tmp_path / "kernel-1.traceg")
    (tmp_path / "kernelslist.g").write_text("kernel-1.traceg\nkernel-2.traceg\nkernel-1.traceg\n")
    run = kp.simulate(tmp_path / "kernelslist.g", tmp_path / "run.kpjournal", policy="all")
    assert isinstance(run.summary, SummaryRecord) and run.summary.half_width is None
    assert run.summary.simulated == 2 and "kernel-2.traceg" in " ".join(run.summary.degraded)


def test_what_a_callback_raises_ends_the_launch_and_the_walk_goes_on(traces):
    walk = _native.fast_model.Walk(str(traces), shipped("v100"))

    def fails(*point):
        raise ZeroDivisionError

    nothing_before = _native.footprint(walk.path(0), (1, 1, 1, 1, 1))[0][:0]
    first = walk.simulate(0, nothing_before, 0, fails)
    with pytest.raises(ZeroDivisionError):
        walk.simulate(1, nothing_before, 1, fails)
    assert walk.simulate(0, nothing_before, 0, fails) == first
    with pytest.raises(IndexError, match="launch 80 is not in the list"):
        walk.simulate(80, None, 0, fails)


def test_a_list_that_is_not_there_and_a_journal_in_use_are_refused(traces, tmp_path):
    with pytest.raises(TraceError, match="absent"):
        kp.simulate(tmp_path / "absent.g", tmp_path / "run.kpjournal")
    assert not list(tmp_path.iterdir())
    kp.simulate(traces, tmp_path / "run.kpjournal", policy="random", error_budget=BUDGET)
    with pytest.raises(JournalError, match="seed"):
        kp.simulate(traces, tmp_path / "run.kpjournal", policy="random", error_budget=BUDGET, seed=9)
