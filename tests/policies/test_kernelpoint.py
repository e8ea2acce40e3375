"""KernelPoint's own policy: what becomes a stratum, what is drawn first, and what predictions are for."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workloads import synthesised

from kernelpoint.config import parse_config
from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, passes
from kernelpoint.planning.plan import Plan
from kernelpoint.policies.labels import context, first_of_each_process, varying_context
from kernelpoint.policies.methods.kernelpoint import KernelPoint
from kernelpoint.program import RECORD, Contents, Program, ProgramBuilder
from kernelpoint.randomness import generator
from kernelpoint.repeated import Repeated
from kernelpoint.session.setup import prepare
from kernelpoint.traces import read_trace_list
from kernelpoint.workload import Need, complete
from kernelpoint.workload.host_info import HostInfo

ANY = {"version": 1, "policy": "kernelpoint"}


def test_context_tells_equal_launches_between_other_neighbours_apart():
    label = np.array([1, 2, 1, 2, 1, 2, 3])
    contexts = context(label, np.array([0, 7]))
    assert contexts[2] == contexts[4] and contexts[1] == contexts[3]
    assert contexts[0] != contexts[2] and contexts[5] != contexts[3]


@given(
    launches=st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 2)), min_size=1, max_size=30),
    first_of_second=st.integers(0, 30),
)
def test_launches_are_told_apart_by_the_nearest_neighbours_whose_kernels_have_several_signatures(launches, first_of_second):
    kernel, signature = np.array(launches).T
    signature = 10 * kernel + signature  # of one kernel each
    start = min(first_of_second, len(kernel))
    processes = [range(start), range(start, len(kernel))]

    def neighbours(launch, process):
        tells = [i for i in process if len(set(signature[kernel == kernel[i]])) > 1]
        before = [signature[i] for i in tells if i < launch]
        after = [signature[i] for i in tells if i > launch]
        return before[-1:], after[:1]

    slow = [(int(kernel[launch]), neighbours(launch, process)) for process in processes for launch in process]
    contexts = varying_context(kernel, kernel, signature, np.array([0, start, len(kernel)]))
    equal = [[first == other for other in slow] for first in slow]
    assert (np.equal.outer(contexts, contexts) == equal).all()


def test_context_does_not_reach_into_another_process():
    together = context(np.array([1, 2, 1, 2]), np.array([0, 4]))
    apart = context(np.array([1, 2, 1, 2]), np.array([0, 2, 4]))
    assert together[0] != together[2]
    assert apart[0] == apart[2] and apart[1] == apart[3]


def test_each_process_has_its_own_first_launch_of_a_stream():
    is_first = first_of_each_process(np.array([7, 7, 8, 7, 8]), np.array([0, 3, 5]))
    assert is_first.tolist() == [True, False, True, True, True]


def test_a_budget_on_dram_traffic_that_only_first_launches_cause_is_met():
    profile = profile_of_unequal_kernels(np.full(800, 1000.0))
    traffic = np.where(np.arange(800) % 8 == 0, 50.0, 0.0)
    budget = {"relative_error": 0.05, "counter": "dram_reads"}
    policy = KernelPoint(parse_config({"version": 1, "policy": "kernelpoint", "error_budget": budget}))
    engine = Engine(policy.design(profile), ErrorBudget(0.05, counter="dram_reads"))
    *_, look = passes(engine, ("cycles", "dram_reads"), np.column_stack([np.full(800, 9.0), traffic]))
    assert abs(look.estimates["dram_reads"].estimate / traffic.sum() - 1.0) <= 0.05
    assert len(engine.drawn()) < 800


def profile_of_unequal_kernels(times):
    """Eight launches of each kernel, all of one shape, so that only their times tell them apart."""
    builder = ProgramBuilder("elsewhere")
    for launch, duration in enumerate(times):
        builder.add(f"k{launch // 8}", (1, 1, 1), (32, 1, 1), duration=float(duration))
    return builder.finish()


@pytest.mark.parametrize("seed", range(5))
def test_times_known_beforehand_tell_launches_of_one_kernel_apart(seed):
    times = np.random.default_rng(1).lognormal(mean=8.0, sigma=1.5, size=800)
    population = replace(profile_of_unequal_kernels(times), seed=seed)
    budget = {"relative_error": 0.05}
    design = KernelPoint(parse_config({"version": 1, "policy": "kernelpoint", "seed": seed, "error_budget": budget}))
    engine = Engine(design.design(population), ErrorBudget(0.05), "regression")
    *_, look = passes(engine, ("cycles",), times)
    assert abs(look.estimates["cycles"].estimate / times.sum() - 1.0) <= 0.05


def population(unpredicted: int = 0) -> tuple[Program, np.ndarray]:
    """Four kernels of 300 launches with a model that is right up to 2 %, but for the first launches; the truth."""
    random = generator(0, "policy with a model")
    kernel = np.arange(300) % 4
    y = random.lognormal(8.0, 1.0, 4)[kernel] * random.lognormal(0.0, 0.5, 300)
    cycles = y * np.exp(0.02 * random.standard_normal(300))
    reads = np.where(kernel == 1, 0.5 * cycles, 0.0)
    cycles[:unpredicted] = np.nan
    predictions = Repeated(None, {"cycles": cycles, "dram_reads": reads, "l2_accesses": 2.0 * cycles})
    contents = Contents(np.zeros(4, RECORD), np.zeros((4, 3), np.uint64), tuple("0123"), np.arange(4, dtype=np.int32))
    names = [f"kernel{number}" for number in kernel.tolist()]
    return Program.of(names, contents=contents, content=kernel, predictions=predictions), y


def policy(**keys) -> KernelPoint:
    """The policy with a configuration."""
    return KernelPoint(parse_config({"version": 1, "policy": "kernelpoint", **keys}))


@pytest.mark.parametrize("counter", ["warp_instructions", "smsp__thread_inst_executed.sum"])
def test_instructions_tell_launches_of_one_shape_apart_where_no_time_is_known(counter):
    """Two kernels of one shape each, whose launches execute unlike numbers of instructions."""
    random, size = generator(0, "instructions"), 1500
    count = np.round(random.lognormal(9.0, 1.0, size))
    y = (3000.0 + 0.4 * count) * random.lognormal(0.0, 0.02, size)
    ends = {}
    for counted in (0, size - 1, size):
        builder = ProgramBuilder("counts")
        for launch in range(size):
            counters = {counter: float(count[launch])} if launch < counted else {}
            builder.add(f"kernel{launch % 2}", (8, 1, 1), (128, 1, 1), order=launch, counters=counters)
        people, runs = builder.finish(), []
        for seed in range(8):
            policy = KernelPoint(parse_config({**ANY, "error_budget": {"relative_error": 0.05}, "seed": seed}))
            engine = Engine(policy.design(replace(people, seed=seed)), ErrorBudget(0.05))
            *_, look = passes(engine, ("cycles",), y)
            runs.append((len(engine.drawn()), look.estimates["cycles"].contains(y.sum())))
        ends[counted] = np.mean(runs, axis=0)
    assert ends[size][1] == 1.0 and ends[size][0] < 0.65 * ends[0][0]
    assert ends[size - 1].tolist() == ends[0].tolist(), "counts of a part of the launches are not used"


def test_predictions_become_the_covariates_and_kernels_the_groups():
    people, y = population()
    design = policy(assume="hostile").design(people)
    assert design.groups.tolist() == (np.arange(300) % 4).tolist()
    assert set(design.predictions) >= {"cycles", "dram_reads"} and design.assume == "hostile"
    engine = Engine(design, ErrorBudget(0.05))
    assert isinstance(engine, Engine)
    *_, look = passes(engine, ("cycles",), y)
    assert look.met and look.estimates["cycles"].contains(y.sum()) and len(engine.drawn()) < 150


def test_without_embeddings_kernels_are_the_coarsest_cells_of_a_list_that_the_model_hardly_predicts(tmp_path):
    paths = tuple(read_trace_list(synthesised(tmp_path, "iterative-solver", 40, rows=1024)).traces)
    people = complete(Program((40,), traces=paths), frozenset({Need.TRACES}), parse_config(ANY).encoder, [].append)
    predictions = Repeated(None, {"cycles": np.where(np.arange(40) < 5, 1.0, np.nan)})
    design = policy().design(replace(people, predictions=predictions))
    assert isinstance(design, Design)
    assert {len(set(people.kernels[design.strata == label])) for label in set(design.strata.tolist())} == {1}


def test_launches_without_a_prediction_are_simulated():
    design = policy().design(population(unpredicted=7)[0])
    assert np.flatnonzero(design.groups < 0).tolist() == list(range(7))
    assert set(range(7)) <= set(Engine(design, ErrorBudget(0.05)).wanted().tolist())


def test_a_plan_keeps_predictions(tmp_path):
    people, _ = population()
    design = policy().design(people)
    Plan(people, design, {"traces": "t"}).save(tmp_path / "run.kpplan")
    again = Plan.load(tmp_path / "run.kpplan", people).design
    assert {k: v.tolist() for k, v in again.means.items()} == {k: v.tolist() for k, v in design.means.items()}
    assert Engine(again, ErrorBudget(0.05)).wanted().tolist() == Engine(design, ErrorBudget(0.05)).wanted().tolist()


def test_under_hostile_assumptions_the_begin_of_the_run_and_first_launches_of_kernels_are_drawn():
    people, _ = population()
    for seed in range(8):
        design = policy(assume="hostile").design(replace(people, seed=seed))
        wanted = Engine(design, ErrorBudget(0.05)).wanted()
        assert (wanted < 4).any() and ((wanted >= 4) & (wanted < 15)).any()


def test_a_run_says_once_why_its_estimate_rests_on_no_predictions(tmp_path):
    host = HostInfo("test", list_paths=(str(synthesised(tmp_path, "iterative-solver", 40, rows=1024)),))
    for keys, said in (
        ({}, []),
        ({"fast_model": "off"}, []),
        ({"error_budget": {"bound": "none"}}, ["bound: none"]),
    ):
        lines: list[str] = []
        setup = prepare(parse_config({"version": 1, "policy": "kernelpoint", **keys}), host, lines.append)
        reasons = [line for line in lines if "does not use the fast model's predictions" in line]
        assert len(reasons) == len(said) and all(text in reasons[0] for text in said)
        assert isinstance(setup.plan.design, AssistedDesign) == (keys == {})
