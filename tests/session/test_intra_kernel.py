"""Launches stopped inside: told, projected, journalled, resumed, and in the bound."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from simulated_host import SimulatedHost

from kernelpoint.errors import ConfigError, HostError, JournalError
from kernelpoint.journal import load_run

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
            told = session.on_progress(
                0, index, int(step * cost), 100 * (issued - 5), issued, issued - SLOTS, self.ctas
            )
            if told and issued < self.ctas:
                return self.end(session, index, True, int((step + CTA_CYCLES) * cost), 100 * issued, issued)
        return self.end(session, index, False, int(last * cost), 100 * self.ctas, self.ctas)

    def end(self, session, index, stopped, cycles, instructions, misses):
        self.simulated.append(index)
        session.on_complete(
            0, index, stopped, cycles, instructions, ("l2_accesses", "l2_misses"), (2.0 * misses, misses)
        )

    def truth(self):
        last = LATENCY + (self.ctas - SLOTS) * CTA_CYCLES // SLOTS + CTA_CYCLES
        return sum(int(last * (1 + 0.02 * math.sin(i))) for i in range(len(self.cycles)))


@pytest.fixture
def gpu(tmp_path):
    return StoppableHost(np.zeros(60), tmp_path)


CTA = "policy: random\nintra_kernel: cta\nerror_budget: {relative_error: 0.03}"
PKA = "policy: random\nintra_kernel: pka\nerror_budget: {relative_error: 0.03}"


def open_(gpu, yaml):
    return gpu.open(yaml, can_stop=True)


def test_off_is_the_default_and_wants_no_progress(host):
    session = host.open("policy: all\nintra_kernel: off")
    assert session.on_launch(0, 0)[2] == 0
    assert session.on_progress(0, 0, 100, 100, 1, 0, 10) == 0


@pytest.mark.parametrize(
    ("yaml", "info", "message"),
    [
        (CTA, {}, "intra_kernel: got 'cta', but this host cannot stop a launch inside; allowed: off"),
        (
            "policy: all\nintra_kernel: cta",
            {"can_stop": True, "concurrent": True},
            "intra_kernel: got 'cta', but this host lets kernel launches overlap",
        ),
        (
            "policy: random\nintra_kernel: cta\nerror_budget: {counter: l2_misses}",
            {"can_stop": True},
            "error_budget.counter: got 'l2_misses', of which CTA-level projections know no error",
        ),
        ("policy: random\nintra_kernel: magic", {"can_stop": True}, "intra_kernel: got 'magic'"),
    ],
)
def test_what_does_not_go_together_is_refused(gpu, yaml, info, message):
    with pytest.raises(ConfigError) as refused:
        gpu.open(yaml, **info)
    assert message in str(refused.value)


def test_projections_enter_the_total_with_their_own_error(gpu):
    summary = gpu.run(open_(gpu, CTA), gpu.act)
    assert summary["projected"] == summary["simulated"] > 0 and summary["intra_kernel"] == "cta"
    assert summary["met"] and summary["relative_half_width"] == pytest.approx(0.03)
    assert abs(summary["estimate"] - gpu.truth()) <= summary["half_width"]
    results = load_run(gpu.folder / "run.kpjournal").results.values()
    weight = 60 / len(results)
    own = sum(weight * r.projection.half_widths["cycles"] for r in results)
    assert 0 < own <= summary["half_width"] and summary["counters"]["cycles"]["half_width"] >= own
    assert any("stopped inside" in sentence for sentence in summary["assumptions"])


def test_cycle_speedup_counts_what_was_simulated(gpu):
    summary = gpu.run(open_(gpu, "policy: all\nintra_kernel: cta\nerror_budget: {relative_error: 0.05}"), gpu.act)
    results = load_run(gpu.folder / "run.kpjournal").results.values()
    simulated = sum(r.projection.simulated_cycles for r in results)
    assert summary["cycle_speedup"] == pytest.approx(summary["estimate"] / simulated) and summary["cycle_speedup"] > 1.3


def test_a_fully_simulated_run_with_projections_is_not_exact(gpu):
    summary = gpu.run(open_(gpu, "policy: all\nintra_kernel: cta\nerror_budget: {relative_error: 0.05}"), gpu.act)
    assert summary["skipped"] == 0 and summary["half_width"] > 0
    assert abs(summary["estimate"] - gpu.truth()) <= summary["half_width"]


def test_other_counters_are_scaled_and_state_no_bound(gpu):
    summary = gpu.run(open_(gpu, CTA), gpu.act)
    misses = summary["counters"]["l2_misses"]
    assert misses["estimate"] == pytest.approx(60 * 2000) and misses["half_width"] is None
    assert summary["ratios"]["l2_miss_rate"]["half_width"] is None
    assert summary["ratios"]["ipc"]["half_width"] > 0
    assert summary["counters"]["instructions"]["half_width"] is not None


def test_principal_kernel_projection_states_no_bound_at_all(gpu):
    summary = gpu.run(open_(gpu, PKA), gpu.act)
    assert summary["projected"] > 0 and not summary["met"]
    assert summary["half_width"] is None and summary["bound"] == "none"
    assert summary["estimate"] == pytest.approx(gpu.truth(), rel=0.05)
    assert all(e["half_width"] is None for e in summary["counters"].values())
    assert any("principal kernel projections" in sentence for sentence in summary["warnings"])


@pytest.mark.parametrize("method", ["cta", "pka"])
def test_launches_too_short_to_stop_leave_the_bound_alone(tmp_path, method):
    def run(key, told):
        (tmp_path / key).mkdir()
        gpu = StoppableHost(np.zeros(60), tmp_path / key, ctas=12)

        def act(session, index):
            if told:
                session.on_progress(0, index, 5200, 500, 12, 2, 12)
            gpu.end(session, index, False, int(5600 * (1 + 0.02 * math.sin(index))), 1200, 12)

        return gpu.run(open_(gpu, f"policy: random\nintra_kernel: {key}\nerror_budget: {{relative_error: 0.01}}"), act)

    off, on = run("off", told=False), run(method, told=True)
    assert on["projected"] == 0 and on["met"]
    assert off["half_width"] == on["half_width"]


@pytest.mark.parametrize("change", ["relative_error: 0.02", "relative_error: 0.03, confidence: 0.9"])
def test_a_run_that_stopped_launches_is_not_resumed_under_another_budget(gpu, change):
    gpu.run(open_(gpu, CTA), gpu.act)
    with pytest.raises(JournalError, match=r"config\.error_budget\."):
        open_(gpu, f"policy: random\nintra_kernel: cta\nerror_budget: {{{change}}}")


@dataclass
class LongTail(StoppableHost):
    """A stopped launch takes longer to drain than the rate of its waves foretells."""

    tail: int = 2000

    def end(self, session, index, stopped, cycles, instructions, misses):
        super().end(session, index, stopped, cycles + self.tail * stopped, instructions, misses)


def test_a_budget_that_projections_take_up_is_met_by_launches_simulated_whole(tmp_path):
    gpu = LongTail(np.zeros(60), tmp_path)
    summary = gpu.run(open_(gpu, CTA.replace("0.03", "0.025")), gpu.act)
    assert 0 < summary["projected"] < summary["simulated"] < 60 and summary["passes"] > 1
    assert summary["met"] and summary["relative_half_width"] <= 0.025


@pytest.mark.parametrize("part", [0.3, 0.6, 0.97])
def test_such_a_run_resumes_with_launches_still_simulated_whole(tmp_path, part):
    gpu = LongTail(np.zeros(60), tmp_path)
    whole = gpu.run(open_(gpu, CTA.replace("0.03", "0.025")), gpu.act)
    journal = gpu.folder / "run.kpjournal"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[: int(part * len(lines))]))
    resumed = gpu.run(open_(gpu, CTA.replace("0.03", "0.025")), gpu.act)
    for key in ("estimate", "half_width", "projected", "simulated", "passes"):
        assert resumed[key] == whole[key], key


def test_a_run_whose_projections_leave_no_way_to_the_budget_says_so(tmp_path):
    gpu = LongTail(np.zeros(60), tmp_path, tail=12_000)
    summary = gpu.run(open_(gpu, CTA.replace("random", "all")), gpu.act)
    assert not summary["met"] and summary["skipped"] == 0 and summary["relative_half_width"] > 0.03
    assert any("error budget of 3 % is not met" in sentence for sentence in summary["warnings"])


def test_a_host_that_ends_in_time_gives_a_whole_result(gpu):
    session = open_(gpu, "policy: all\nintra_kernel: cta\nerror_budget: {relative_error: 0.05}")
    session.on_launch(0, 0)
    step = LATENCY
    while not session.on_progress(0, 0, step, step, gpu.issued(step), gpu.issued(step) - SLOTS, 2000):
        step += 200
    assert session.on_progress(0, 0, step + 200, step, 2000, 1990, 2000) == 1  # the answer does not change
    gpu.end(session, 0, False, 105_500, 200_000, 2000)
    assert session.loop.sampled.intra_kernel.projected == 0


def test_a_stop_that_nobody_asked_for_is_refused(gpu):
    session = open_(gpu, CTA)
    index = session.next(0, -1)[1]
    session.on_launch(0, index)
    with pytest.raises(HostError, match="was stopped inside although the answer was to continue"):
        gpu.end(session, index, True, 6000, 100, 10)


def test_an_aborted_launch_begins_anew(gpu):
    session = open_(gpu, CTA)
    index = session.next(0, -1)[1]
    session.on_launch(0, index)
    session.on_progress(0, index, 6000, 100, 20, 10, 2000)
    session.on_abort(0, index, "lost")
    assert not session.loop.sampled.intra_kernel._followed
