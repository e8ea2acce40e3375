"""A run takes over the results of an earlier one; its estimate is that of a run that simulated everything itself."""

from pathlib import Path

import pytest
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.errors import ConfigError, JournalError


@pytest.fixture(scope="module")
def traces(tmp_path_factory) -> Path:
    return synthesised(tmp_path_factory.mktemp("list"), "iterative-solver", 150, rows=1024)


@pytest.fixture(scope="module")
def loose(traces, tmp_path_factory):
    """For each policy the run at 5 %."""
    folder = tmp_path_factory.mktemp("loose")
    return {policy: simulate(traces, folder / f"{policy}.kpjournal", policy) for policy in ("kernelpoint", "random")}


def simulate(traces, journal, policy, relative_error=0.05, counter="cycles", **keys):
    budget = {"relative_error": relative_error, "counter": counter}
    return kp.simulate(traces, journal, policy=policy, error_budget=budget, **keys)


@pytest.mark.parametrize(
    ("policy", "relative_error", "counter"), [("kernelpoint", 0.01, "cycles"), ("random", 0.05, "l2_misses")]
)
def test_a_run_with_another_budget_simulates_only_what_it_lacks(traces, loose, tmp_path, policy, relative_error, counter):
    before = loose[policy]
    alone = simulate(traces, tmp_path / "alone.kpjournal", policy, relative_error, counter)
    helped = simulate(traces, tmp_path / "helped.kpjournal", policy, relative_error, counter, results_from=str(before.path))
    shared = before.results.keys() & alone.results.keys()
    assert shared and helped.ended().copied == len(shared)
    assert helped.ended().simulated == alone.ended().simulated - len(shared)
    assert {unit: r.counters for unit, r in helped.results.items()} == {u: r.counters for u, r in alone.results.items()}
    assert helped.ended().counters == alone.ended().counters
    assert [r.counters for r in helped.validations] == [r.counters for r in alone.validations]


def test_a_run_that_was_helped_is_resumed_at_any_line(traces, loose, tmp_path):
    journal, before = tmp_path / "run.kpjournal", str(loose["random"].path)
    whole = simulate(traces, journal, "random", 0.01, results_from=before)
    lines = journal.read_bytes().splitlines(keepends=True)
    for end in range(1, len(lines), len(lines) // 4):
        journal.write_bytes(b"".join(lines[:end]))
        again = simulate(traces, journal, "random", 0.01, results_from=before)
        assert again.ended() == whole.ended()


def test_workers_are_not_asked_for_what_is_known(traces, loose, tmp_path, monkeypatch):
    from kernelpoint.python_host import InProcess

    expected, whole = [], InProcess.simulate

    def simulated(host, order):
        expected.extend(host.session.planned())
        return whole(host, order)

    monkeypatch.setattr(InProcess, "simulate", simulated)
    before = loose["random"]
    simulate(traces, tmp_path / "run.kpjournal", "random", 0.01, results_from=str(before.path))
    chains = [step.launch for plan in expected for step in plan.chain if len(plan.chain) == 1]
    assert chains and not set(chains) & before.results.keys()


def test_other_simulations_are_refused_before_the_first_launch(traces, loose, tmp_path):
    before, journal = str(loose["random"].path), tmp_path / "run.kpjournal"
    with pytest.raises(ConfigError, match="is of other traces, or of another simulator or GPU"):
        simulate(traces, journal, "random", gpu="rtx", results_from=before)
    with pytest.raises(ConfigError, match="allowed: the journal of another run"):
        simulate(traces, before, "random", results_from=before)
    with pytest.raises(ConfigError, match="allowed: the journal of another run, if"):
        simulate(traces, journal, "all", results_from=before)
    with pytest.raises(JournalError, match="cannot read the journal"):
        simulate(traces, journal, "random", results_from=str(tmp_path / "none"))
    full = simulate(traces, tmp_path / "full.kpjournal", "all")
    with pytest.raises(ConfigError, match="is the journal of a full run"):
        simulate(traces, journal, "random", results_from=str(full.path))
    assert not journal.exists()
