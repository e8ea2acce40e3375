"""A simulator in Python: launches that describe themselves are sampled by what they say, and a run survives its end."""

from dataclasses import replace

import numpy as np
import pytest

import kernelpoint as kp
from kernelpoint.errors import HostError
from kernelpoint.estimate import Estimate
from kernelpoint.randomness import generator
from kernelpoint.session.verdict import verdict

SHAPES = [(64 * m, 64 * n, 64 * k) for m in (1, 2, 4) for n in (1, 2, 4) for k in (1, 3, 9)]


def silent(line):
    pass


def workload(launches=1500):
    """GEMMs that repeat: descriptions, and cycles that are 1 % apart where shapes are equal."""
    random = generator(7, "python host")
    shape = [SHAPES[i] for i in random.integers(0, len(SHAPES), launches)]
    factor = dict(zip(SHAPES, random.uniform(0.7, 1.4, len(SHAPES)), strict=True))
    cycles = np.array([factor[s] * (500 + np.prod(s) / 200) for s in shape]) * random.normal(1.0, 0.01, launches)
    return [{"name": "gemm", "shape": s} for s in shape], cycles.round()


def keys(folder, **more):
    return {"version": 1, "policy": "kernelpoint", "journal": str(folder / "run.kpjournal"), **more}


def simulated(run, cycles):
    for launch in run:
        run.result(launch, cycles=cycles[launch])
    return run


@pytest.mark.parametrize("cost", [False, True], ids=["by shape", "by cost"])
def test_described_launches_take_few_simulations_and_the_bound_contains_the_total(tmp_path, cost):
    described, cycles = workload()
    if cost:
        described = [launch | {"cost": 500 + np.prod(launch["shape"]) / 200} for launch in described]
    for seed in range(12):
        journal = str(tmp_path / f"{seed}.kpjournal")
        with kp.host(keys(tmp_path, seed=seed, journal=journal), described, stateless=True, log=silent) as run:
            simulated(run, cycles)
        assert run.summary.simulated < 0.1 * len(cycles)
        assert run.summary.bound_scope == "total error" and run.summary.met and run.summary.degraded == []
        assert abs(run.summary.estimate - cycles.sum()) <= run.summary.half_width
    named = kp.Run.load(journal)
    assert [named.name_of(unit) for unit in range(len(cycles))] == [launch["name"] for launch in described]


def test_a_cost_for_every_launch_is_a_prediction_where_no_shape_repeats(tmp_path):
    random = generator(3, "costs")
    cost = random.uniform(1e3, 1e5, 2000)
    cycles = (cost * random.normal(1.0, 0.02, len(cost))).round()
    with kp.host(keys(tmp_path), [{"name": "op", "cost": c} for c in cost], stateless=True, log=silent) as run:
        simulated(run, cycles)
    assert run.summary.simulated < 0.1 * len(cost)
    assert abs(run.summary.estimate - cycles.sum()) <= run.summary.half_width


def test_launches_that_may_leave_state_behind_have_a_bound_on_the_sampling_error_only(tmp_path):
    described, cycles = workload(400)
    with kp.host(keys(tmp_path), described, log=silent) as run:
        simulated(run, cycles)
    assert run.summary.bound_scope == "sampling error"


def test_launches_of_which_only_the_number_is_known_are_sampled_at_random_with_a_warning(tmp_path):
    lines = []
    cycles = 1000.0 + np.arange(4000) % 7
    with kp.host(keys(tmp_path), len(cycles), stateless=True, log=lines.append) as run:
        simulated(run, cycles)
    assert run.summary.simulated == 30 and run.summary.degraded == []
    assert abs(run.summary.estimate - cycles.sum()) <= run.summary.half_width
    assert any("nothing is known of the launches but their number" in line for line in lines)


class Program:
    """A program in which a launch reads what the one before it wrote, and takes as long as that says."""

    def __init__(self):
        self.at, self.word, self.simulated, self.order = -1, 0, {}, []

    def execute(self, launch):
        assert launch in (0, self.at + 1), "no launch is passed over"
        self.word = (0 if launch == 0 else self.word * 1103515245 + launch) % 2**31
        self.at = launch
        self.order.append(launch)

    def simulate(self, launch):
        self.execute(launch)
        self.simulated[launch] = 1000 + self.word % 64
        return self.simulated[launch]


def test_launches_that_are_not_simulated_are_executed_in_program_order(tmp_path):
    full, program = Program(), Program()
    cycles = [full.simulate(launch) for launch in range(2000)]
    with kp.host(keys(tmp_path), len(cycles), stateless=True, execute=program.execute, log=silent) as run:
        for launch in run:
            run.result(launch, cycles=program.simulate(launch))
    assert run.summary.simulated == len(program.simulated) < 200 and run.summary.bound_scope == "total error"
    assert all(cycles[launch] == simulated for launch, simulated in program.simulated.items())
    assert abs(run.summary.estimate - sum(cycles)) <= run.summary.half_width


def test_a_further_pass_executes_the_program_again_from_its_first_launch(tmp_path):
    program, random = Program(), generator(5, "further pass")
    spread = random.lognormal(0, 1.5, 600)
    lines = []
    tight = keys(tmp_path, error_budget={"relative_error": 0.02})
    with kp.host(tight, len(spread), stateless=True, execute=program.execute, log=lines.append) as run:
        for launch in run:
            program.simulate(launch)
            run.result(launch, cycles=1e4 * spread[launch])
    assert run.summary.passes > 1 and program.order.count(0) == run.summary.passes
    assert len(program.simulated) == run.summary.simulated


def test_one_launch_of_each_key_is_simulated_and_the_equal_ones_are_executed(tmp_path):
    described = [{"key": 1 + launch % 4} for launch in range(60)]
    program = Program()
    options = {"stateless": True, "deterministic": True, "execute": program.execute}
    with kp.host(keys(tmp_path), described, **options, log=silent) as run:
        for launch in run:
            program.simulate(launch)
            run.result(launch, cycles=100 * described[launch]["key"])
    assert len(program.simulated) == 4 and run.summary.estimate == 100 * sum(description["key"] for description in described)


def test_without_replay_the_bound_of_a_host_that_executes_leaves_caches_out(tmp_path):
    with kp.host(keys(tmp_path), 300, execute=lambda launch: None, log=silent) as run:
        for launch in run:
            run.result(launch, cycles=1000 + launch % 5)
    assert (
        run.summary.bound_scope == "sampling error" and "runs skipped launches functionally" in run.summary.bound_scope_reason
    )


def test_a_run_that_was_left_by_an_exception_goes_on_where_it_was(tmp_path):
    described, cycles = workload(400)
    done = []
    with pytest.raises(RuntimeError), kp.host(keys(tmp_path), described, log=silent) as run:
        for launch in run:
            run.result(launch, cycles=cycles[launch])
            done.append(launch)
            if len(done) == 5:
                raise RuntimeError
    with kp.host(keys(tmp_path), described, log=silent) as run:
        for launch in run:
            assert launch not in done
            run.result(launch, cycles=cycles[launch])
    assert run.summary.met


def test_a_launch_without_a_result_is_named_when_the_next_one_is_asked_for(tmp_path):
    with pytest.raises(HostError, match=r"launch \d+ has no result"), kp.host(keys(tmp_path), 100, log=silent) as run:
        for _ in run:
            pass


def test_a_launch_that_fails_twice_is_left_out_and_said(tmp_path):
    described, cycles = workload(400)
    failed = []
    with kp.host(keys(tmp_path), described, log=silent) as run:
        for launch in run:
            if failed and launch != failed[0]:
                run.result(launch, cycles=cycles[launch])
            else:
                failed.append(launch)
                run.fail(launch, "out of memory")
    assert len(failed) == 2 and run.summary.lost == failed[:1]
    assert not run.summary.met and run.summary.relative_half_width > 0.01, "the budget and what was lost"
    summary = replace(run.summary, bound_scope="total error")
    added = 100 * (summary.relative_half_width - summary.relative_error)
    assert verdict(summary).endswith(f"error budget not met; 1 launch without a result adds {added:.2g} %")
    wider = {"ctas": Estimate.of(100.0, 5.5, confidence=0.95, computed_half_width=2.0)}
    summary = replace(summary, lost=[1, 2], further={"ctas": 0.02}, counters={**summary.counters, **wider})
    assert verdict(summary).endswith("error budget not met; 2 launches without a result add 3.5 %"), "of the target of most"


def keyed(launches=1500):
    """The workload with keys, in a simulator that gives equal launches equal results."""
    described, _ = workload(launches)
    keyed = [launch | {"key": 1 + SHAPES.index(launch["shape"])} for launch in described]
    return keyed, np.array([500 + np.prod(launch["shape"]) // 200 for launch in described])


def test_a_deterministic_simulator_runs_one_launch_of_each_key_and_the_total_is_exact(tmp_path):
    described, cycles = keyed()
    with kp.host(keys(tmp_path), described, deterministic=True, log=silent) as run:
        simulated(run, cycles)
    assert run.summary.simulated == len(SHAPES) and run.summary.skipped == len(cycles) - len(SHAPES)
    assert (run.summary.estimate, run.summary.half_width, run.summary.bound_scope) == (cycles.sum(), 0.0, "exact")
    first = {description["key"]: launch for launch, description in reversed(list(enumerate(described)))}
    assert run.summary.cycle_speedup == pytest.approx(cycles.sum() / cycles[list(first.values())].sum())


def test_a_deterministic_run_that_was_interrupted_simulates_no_key_twice(tmp_path):
    described, cycles = keyed(400)
    with pytest.raises(RuntimeError), kp.host(keys(tmp_path), described, deterministic=True, log=silent) as run:
        for count, launch in enumerate(run):
            if count == 9:
                raise RuntimeError
            run.result(launch, cycles=cycles[launch])
    with kp.host(keys(tmp_path), described, deterministic=True, log=silent) as run:
        again = [described[launch]["key"] for launch in run if run.result(launch, cycles=cycles[launch]) is None]
    assert len(again) == len(set(again)) == len(SHAPES) - 9
    assert (run.summary.estimate, run.summary.half_width) == (cycles.sum(), 0.0)


def test_where_most_keys_are_distinct_a_deterministic_simulator_is_sampled_too(tmp_path):
    random = generator(5, "keys")
    cost = random.uniform(1e3, 1e5, 1000)
    described = [{"name": "op", "cost": c, "key": 1 + launch // 2} for launch, c in enumerate(np.repeat(cost, 2))]
    cycles = np.repeat(cost * random.normal(1.0, 0.02, 1000), 2).round()
    with kp.host(keys(tmp_path), described, stateless=True, deterministic=True, log=silent) as run:
        simulated(run, cycles)
    assert run.summary.simulated < 200
    assert abs(run.summary.estimate - cycles.sum()) <= run.summary.half_width


@pytest.mark.parametrize(
    ("launches", "message"),
    [
        ([{"names": "gemm"}], r"description of launch 0: unknown field 'names'; allowed: cost, features, key, name, shape"),
        ([{"cost": 1.0}, {"cost": -1.0}], r"description of launch 1: cost is -1.0; allowed: 0 \(unknown\) to 1e\+300"),
        ([{"cost": float("nan")}], r"description of launch 0: cost is nan"),
        ([{"features": (1.0,)}, {"features": (1.0, 2.0)}], r"as many features for every launch"),
        ([{"shape": "abc"}], r"descriptions of launches"),
        ([{"key": -1}], r"descriptions of launches"),
        ([], r"launches: got \[\]; allowed: at least one"),
    ],
    ids=["unknown", "negative", "nan", "features", "shape", "key", "none"],
)
def test_a_description_that_cannot_be_is_refused_before_anything_is_simulated(tmp_path, launches, message):
    with pytest.raises(HostError, match=message):
        kp.host(keys(tmp_path), launches, log=silent)
    assert not (tmp_path / "run.kpjournal").exists()


class Cached:
    """A simulator whose launches are faster the more launches were simulated directly before, up to three."""

    def __init__(self, depth):
        self.depth, self.warm = depth, []

    def restore(self, launch):
        self.warm = list(range(max(launch - self.depth, 0), launch))

    def simulate(self, launch):
        self.warm = [*self.warm[-2:], launch]
        lacking = min(launch, 3) + 1 - sum(1 for before in self.warm if launch - 3 <= before)
        return 10_000 + launch % 7 + 500 * lacking


@pytest.mark.parametrize(("depth", "met"), [(3, True), (1, False)])
def test_what_a_simulator_does_not_restore_by_itself_is_measured_and_is_in_the_bound(tmp_path, depth, met):
    full, simulator = Cached(0), Cached(depth)
    total = sum(full.simulate(launch) for launch in range(2000))
    with kp.host(keys(tmp_path), 2000, restore=simulator.restore, log=silent) as run:
        for launch in run:
            run.result(launch, cycles=simulator.simulate(launch))
    stated = run.summary
    assert stated.bound_scope == "total error" and stated.met == met
    assert abs(stated.estimate - total) <= stated.half_width
    assert any("more than 8 before" in line for line in stated.assumptions)
