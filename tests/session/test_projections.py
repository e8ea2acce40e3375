"""Launches that policy pka stops before their end: answered, projected, journalled, resumed."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from simulated_host import SimulatedHost

from kernelpoint.errors import ConfigError, HostError
from kernelpoint.journal import load_run
from kernelpoint.policies.methods.pka import COUNTERS

SLOTS, LATENCY, CTA_CYCLES = 10, 5000, 500


@dataclass
class StoppableHost(SimulatedHost):
    """Every launch has `ctas` CTAs of equal cost on a GPU of 10 slots, and stops when it is told to."""

    ctas: int = 2000

    def issued(self, cycles):
        """CTAs issue evenly; `cycles` of a launch are LATENCY and CTA_CYCLES for each SLOTS of them, and one more wave."""
        return min(SLOTS + (cycles - LATENCY) * SLOTS // CTA_CYCLES, self.ctas)

    def act(self, session, index, limit=None):
        interval = session.on_launch(0, index)[2] or 10**9  # none: simulated whole
        cost = 1 + 0.02 * math.sin(index)  # launches differ a little
        last = LATENCY + (self.ctas - SLOTS) * CTA_CYCLES // SLOTS + CTA_CYCLES
        for step in range(interval, last, interval):
            if step <= LATENCY:
                continue
            issued = self.issued(step)
            stop = session.on_progress(0, index, int(step * cost), 100 * (issued - 5), issued, issued - SLOTS, self.ctas)
            if stop and issued < self.ctas:
                return self.end(session, index, True, int((step + CTA_CYCLES) * cost), 100 * issued, issued)
        return self.end(session, index, False, int(last * cost), 100 * self.ctas, self.ctas)

    def end(self, session, index, stopped, cycles, instructions, misses):
        self.simulated.append(index)
        session.on_complete(0, index, stopped, cycles, instructions, ("l2_accesses", "l2_misses"), (2.0 * misses, misses))

    def truth(self):
        last = LATENCY + (self.ctas - SLOTS) * CTA_CYCLES // SLOTS + CTA_CYCLES
        return sum(int(last * (1 + 0.02 * math.sin(i))) for i in range(len(self.cycles)))


@pytest.fixture
def gpu(tmp_path):
    return StoppableHost(np.zeros(60), tmp_path)


@pytest.fixture
def yaml(tmp_path):
    """The policy with its profile: launches of four kernels in turn."""
    shown = ["ID", "Process ID", "Kernel Name", "Block Size", "Grid Size", *COUNTERS]
    rows = [[i, 1, f"k{i % 4}", "(128, 1, 1)", f"({i % 4 + 1}, 1, 1)", *[(i % 4 + 1.0) ** 2] * 12] for i in range(60)]
    lines = [",".join(f'"{cell}"' for cell in row) for row in (shown, [""] * len(shown), *rows)]
    (tmp_path / "ncu.csv").write_text("\n".join(lines) + "\n")
    return f"policy: {{name: pka, project: true}}\nprofile: {tmp_path / 'ncu.csv'}"


def open_(gpu, yaml):
    return gpu.open(yaml, can_stop=True)


def test_other_policies_want_no_progress(host):
    session = host.open("policy: all")
    assert session.on_launch(0, 0)[2] == 0
    assert session.on_progress(0, 0, 100, 100, 1, 0, 10) == 0


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ({}, "policy.project: got True, but this simulator cannot stop a launch inside; allowed: False"),
        (
            {"can_stop": True, "concurrent": True},
            "policy.project: got True, but this simulator lets kernel launches overlap",
        ),
    ],
)
def test_a_host_that_cannot_stop_launches_is_refused(gpu, yaml, info, message):
    with pytest.raises(ConfigError) as refused:
        gpu.open(yaml, **info)
    assert message in str(refused.value)


def test_projections_state_no_bound_and_count_what_was_simulated(gpu, yaml):
    summary = gpu.run(open_(gpu, yaml), gpu.act)
    assert summary["projected"] == summary["simulated"] > 0 and not summary["met"]
    assert summary["half_width"] is None and summary["bound"] == "none"
    assert summary["estimate"] == pytest.approx(gpu.truth(), rel=0.05)
    assert summary["counters"]["l2_misses"]["estimate"] == pytest.approx(60 * 2000)
    assert all(e["half_width"] is None for e in summary["counters"].values())
    assert any("are projections, whose error is not known" in sentence for sentence in summary["warnings"])
    results = load_run(gpu.folder / "run.kpjournal").results.values()
    simulated = sum(r.projection.simulated_cycles for r in results)
    assert summary["cycle_speedup"] == pytest.approx(summary["estimate"] / simulated)


def test_a_run_that_stopped_nothing_says_so(tmp_path, yaml):
    gpu = StoppableHost(np.zeros(60), tmp_path, ctas=12)

    def act(session, index):
        session.on_progress(0, index, 5200, 500, 12, 2, 12)
        gpu.end(session, index, False, 5600, 1200, 12)

    summary = gpu.run(open_(gpu, yaml), act)
    assert summary["projected"] == 0 and any("had no effect" in sentence for sentence in summary["warnings"])


def test_a_run_goes_on_with_its_projections(gpu, yaml):
    whole = gpu.run(open_(gpu, yaml), gpu.act)
    journal = gpu.folder / "run.kpjournal"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[: len(lines) // 2]))
    assert gpu.run(open_(gpu, yaml), gpu.act) == whole


def test_the_answer_to_stop_stays_and_a_host_that_ends_in_time_gives_a_whole_result(gpu, yaml):
    session = open_(gpu, yaml)
    session.on_launch(0, 0)
    step = LATENCY
    while not session.on_progress(0, 0, step, step, gpu.issued(step), gpu.issued(step) - SLOTS, 2000):
        step += 200
    assert session.on_progress(0, 0, step + 200, step, 2000, 1990, 2000) == 1
    gpu.end(session, 0, False, 105_500, 200_000, 2000)
    assert session.loop.sample.projections.count == 0


def test_a_stop_that_nobody_asked_for_is_refused(gpu, yaml):
    session = open_(gpu, yaml)
    session.on_launch(0, 0)
    with pytest.raises(HostError, match="before its end, although it was to continue"):
        gpu.end(session, 0, True, 6000, 100, 10)


def test_an_aborted_launch_begins_anew(gpu, yaml):
    session = open_(gpu, yaml)
    session.on_launch(0, 0)
    session.on_progress(0, 0, 6000, 100, 20, 10, 2000)
    session.on_abort(0, 0, "lost")
    assert not session.loop.sample.projections._followed
