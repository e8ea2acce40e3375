"""A profile beside the traces: times of another GPU are predictions, and never decide whether the bound holds."""

from dataclasses import replace

import numpy as np
import pytest

from kernelpoint.config import parse_config
from kernelpoint.errors import PolicyError
from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, passes
from kernelpoint.planning.plan import Plan
from kernelpoint.planning.range_targets import with_range_targets
from kernelpoint.policies.methods.kernelpoint import KernelPoint
from kernelpoint.policies.processes import design_of
from kernelpoint.program import RECORD, Contents, Program, ProgramBuilder
from kernelpoint.workload import Available, Need

LAUNCHES = 3000
CONFIG = {"version": 1, "policy": "kernelpoint", "error_budget": {"relative_error": 0.02}}


def profile(times):
    builder = ProgramBuilder("elsewhere.kpjournal")
    for order, cycles in enumerate(times):
        builder.add("", order=order, counters={"cycles": float(cycles)})
    return builder.finish()


def population(seed=0, times=None):
    """One kernel, one stream; what it takes hides in its arguments, which only another GPU's times tell apart."""
    zeros = np.zeros(LAUNCHES, np.int32)
    records = np.zeros(1, RECORD)
    records["counts"] = [1000, 32000, 80, 320, 10, 0, 100, 3200, 0]
    contents = Contents(records, np.zeros((1, 3), np.uint64), ("0",), np.zeros(1, np.int32))
    scan = replace(Program.of(["k"] * LAUNCHES), contents=contents, content=zeros)
    program = Program((LAUNCHES,), seed, traces=tuple(map(str, range(LAUNCHES))))
    program = program if times is None else program.with_times_of(times)
    return replace(program.with_contents_of(scan), embeddings=np.zeros((1, 256), np.float32))


def truth():
    return np.random.default_rng(5).choice([4000.0, 9000.0, 30000.0], size=LAUNCHES)


def estimated(people, y, budget=0.02):
    """The estimate of the cycles at the end of a run."""
    *_, look = passes(Engine(KernelPoint(parse_config(CONFIG)).design(people), ErrorBudget(budget)), ("cycles",), y)
    return look.estimates["cycles"]


def test_traces_are_read_beside_a_profile_and_embedded_where_nothing_predicts_their_launches():
    elsewhere = profile(truth())
    assert KernelPoint.inputs(Available(elsewhere, True)) == {Need.TRACES, Need.PROFILE}
    assert KernelPoint.inputs(Available(elsewhere.without_results(), True)) == {Need.TRACES, Need.EMBEDDINGS, Need.PROFILE}
    assert KernelPoint.inputs(Available(elsewhere)) == {Need.PROFILE}
    assert KernelPoint.inputs(Available(traces=True, model=True)) == {Need.TRACES, Need.MODEL}
    assert KernelPoint.inputs(Available(traces=True)) == {Need.TRACES, Need.EMBEDDINGS}
    assert KernelPoint.inputs(Available()) == frozenset()


def test_times_of_another_gpu_save_most_of_the_simulation():
    y = truth()
    elsewhere = profile(0.7 * y + 500)
    assert estimated(population(times=elsewhere), y).simulated < 0.3 * estimated(population(), y).simulated


def test_a_profile_that_knows_the_wrong_thing_costs_draws_and_not_the_bound():
    y = truth()
    wrong = profile(np.random.default_rng(9).permutation(y))
    ends = [estimated(population(seed, wrong), y, 0.1) for seed in range(20)]
    assert np.mean([end.simulated / y.sum() for end in ends]) < 0.6, "hardly any launch is left that the bound could miss"
    assert np.mean([abs(end.estimate - y.sum()) <= end.computed_half_width for end in ends]) >= 0.9


def test_times_are_observed_predictions_and_names_the_groups():
    y = truth()
    design = KernelPoint(parse_config(CONFIG)).design(population(times=profile(y)))
    assert isinstance(design, AssistedDesign) and design.known["cycles"].is_observed
    assert design.means["cycles"].tolist() == y.tolist() and set(design.groups) == {0} and design.computed == {}


@pytest.mark.parametrize("unit", [1e-3, 1.0, 37.0])
def test_the_unit_of_the_times_changes_no_draw_and_no_estimate(unit):
    y = truth() * np.random.default_rng(2).lognormal(0.0, 0.03, LAUNCHES)
    ends = [estimated(population(times=profile(scale * truth())), y) for scale in (1.0, unit)]
    assert ends[0].simulated == pytest.approx(ends[1].simulated)
    assert ends[0].estimate == pytest.approx(ends[1].estimate)


def test_launches_that_the_profile_lacks_are_predicted_by_their_work():
    y = truth()
    times = np.where(np.arange(LAUNCHES) < 10, np.nan, y)
    design = KernelPoint(parse_config(CONFIG)).design(population(times=profile(times)))
    assert (design.groups == 0).all()
    assert np.unique(design.means["cycles"][:10]).tolist() == [np.median(times[10:])]


def test_times_of_few_launches_are_not_used():
    y = truth()
    times = np.where(np.arange(LAUNCHES) < LAUNCHES // 2 + 1, np.nan, y)
    assert isinstance(KernelPoint(parse_config(CONFIG)).design(population(times=profile(times))), Design)


def of_two_processes(times):
    counts = LAUNCHES // 3, LAUNCHES - LAUNCHES // 3
    return replace(population(times=profile(times)), counts=counts, contents=None, content=None, embeddings=None)


def test_of_several_processes_times_are_predictions_whose_groups_and_neighbours_are_of_one_process(tmp_path):
    people = of_two_processes(times := np.where(np.arange(LAUNCHES) < LAUNCHES // 3, 4000.0, 9000.0))
    design = design_of(KernelPoint(parse_config(CONFIG)), people)
    assert isinstance(design, AssistedDesign) and design.known["cycles"].second.tolist() == times.tolist()
    assert design.groups.tolist() == design.shapes.tolist() == np.repeat([0, 1], people.counts).tolist()
    _, beginning, firsts = (part.units.tolist() for part in design.parts({"cycles": 0.02}))
    assert firsts == [0, 1000] and sorted(beginning) == [*range(1, 100), *range(1001, 1200)]
    Plan(people, design, {"traces": "0"}).save(tmp_path / "two.kpplan")
    again = Plan.load(tmp_path / "two.kpplan", people).design
    assert Engine(again, ErrorBudget(0.02)).drawn().tolist() == Engine(design, ErrorBudget(0.02)).drawn().tolist()


def test_each_of_several_processes_is_bounded_by_times_as_predictions():
    y, right = truth() * np.where(np.arange(LAUNCHES) < LAUNCHES // 3, 0.1, 1.0), []
    for seed in range(10):
        people = replace(of_two_processes(y * np.random.default_rng(9).lognormal(0.0, 0.05, LAUNCHES)), seed=seed)
        policy = KernelPoint(parse_config(CONFIG))
        budget, targets = with_range_targets(policy.config, None, ErrorBudget(0.02), people.counts)
        engine = Engine(design_of(policy, people), budget, ranges=targets)
        *_, look = passes(engine, ("cycles",), y)
        assert look.met and len(engine.drawn()) < 0.2 * LAUNCHES
        totals = y[: LAUNCHES // 3].sum(), y[LAUNCHES // 3 :].sum()
        right += [each.contains(total) for each, total in zip(look.ranges.values(), totals, strict=True)]
    assert np.mean(right) >= 0.9


def test_a_profile_without_times_adds_nothing():
    bare = profile(truth()).without_results()
    with_it, without = (KernelPoint(parse_config(CONFIG)).design(population(times=k)) for k in (bare, None))
    assert (with_it.strata == without.strata).all() and (with_it.x == without.x).all()


def test_a_negative_time_is_refused():
    with pytest.raises(PolicyError, match=r"elsewhere\.kpjournal: a launch has the time -1"):
        KernelPoint(parse_config(CONFIG)).design(population(times=replace(profile(truth()), duration=np.full(LAUNCHES, -1.0))))
