"""Checks of the contract of policies, for the policies of KernelPoint and of other packages. With pytest:

    from kernelpoint.policies.conformance import CHECKS

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_policy_fulfils_the_contract(check):
        check("mine")  # the name of its entry point

A check raises AssertionError where the policy breaks the contract.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import MISSING, replace
from typing import Any, get_args

import numpy as np

from kernelpoint.config import parse_config
from kernelpoint.errors import PolicyError
from kernelpoint.estimation import Bound, Design, Engine, ErrorBudget, Method, passes
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.processes import design_of
from kernelpoint.policies.registry import load_policy
from kernelpoint.program import COUNTS, RECORD, Contents, Labels, Program, ProgramBuilder
from kernelpoint.randomness import generator
from kernelpoint.repeated import Texts
from kernelpoint.typed import keys_of
from kernelpoint.workload import Available, Need

Order = Callable[[np.ndarray], np.ndarray]
MEASURED_LAUNCHES, RUNS = 1200, 40
KERNELS = ("gemm", "softmax", "copy")
LAUNCHES = 120
LEAST_RIGHT = 34  # fewer have a probability of 0.3 % if intervals hold in 95 % of runs (binomial)


# ---- a program that is made up --------------------------------------------------------------------------------------


def stream_of(count: int) -> np.ndarray:
    """int32 [count]: number of the instruction sequence of each synthetic launch. Six sequences occur, three of them rarely;
    sequence s belongs to kernel s % 3.
    """
    launches = np.arange(count)
    return np.where(launches % 11 == 7, 3 + launches % 3, launches % 3).astype(np.int32)


def synthetic_scan(count: int) -> Program:
    """Make a program of `count` synthetic launches, as if their traces had been read."""
    _, stream = np.unique(stream_of(count), return_inverse=True)  # numbered without gaps
    present = np.unique(stream_of(count))
    instructions = 100 * (1 + present[stream].astype(np.int64)) ** 2
    records = np.zeros(count, dtype=RECORD)
    columns = {"instructions": 1, "thread_instructions": 30, "ctas": 0.01, "warps": 0.04, "global_accesses": 0.2,
               "shared_accesses": 0.1, "sectors": 0.8, "bytes": 25.6}  # fmt: skip
    for name, factor in columns.items():
        records["counts"][:, COUNTS.index(name)] = instructions * factor
    records["stream"] = np.array([bytes([s]) * 16 for s in range(len(present))], dtype="V16")[stream]
    traces = tuple(f"kernel-{i}.traceg" for i in range(count))
    contents = Contents(records, np.zeros((count, 3), dtype=np.uint64), traces, stream.astype(np.int32))
    shapes = np.array([(1 + int(s), 1, 1, 128, 1, 1, 32, 0) for s in present])
    return Program(
        (count,),
        labels=Labels(Texts(KERNELS, (present % 3).astype(np.int32)), shapes),
        label=stream.astype(np.int32),
        contents=contents,
        content=np.arange(count, dtype=np.int32),
    )


def synthetic_profile(count: int, times: np.ndarray | None = None) -> Program:
    """Make the profile of `count` synthetic launches. Times (ns) of launches with the same instruction sequence differ by 2 %.

    Args:
        count: number of launches.
        times: float64 [count], times to use instead.
    """
    builder = ProgramBuilder("made up")
    noise = np.random.default_rng(5).normal(1.0, 0.02, count)
    for launch, s in enumerate(stream_of(count).tolist()):
        duration = 1000.0 * (1 + s) * noise[launch] if times is None else float(times[launch])
        builder.add(KERNELS[s % 3], (1 + s, 1, 1), (128, 1, 1), 32, 0, 7, 10_000 * launch, duration)
    return builder.finish()


def make(
    name: str, count: int = LAUNCHES, seed: int = 0, times: np.ndarray | None = None, **settings: Any
) -> tuple[Policy, Program]:
    """Make a policy, and a synthetic program with the inputs that the policy needs.

    Args:
        name: name of the policy.
        count: number of launches.
        seed: seed of the run.
        times: float64 [count], times of the profile; None: synthetic ones.
        settings: further keys of the configuration.

    >>> policy, program = make("gcl", count=12)
    >>> len(policy.design(program).strata)
    12
    """
    chosen = load_policy(name)
    needs = chosen.inputs(Available())
    program = synthetic_profile(count, times) if Need.PROFILE in needs else Program((count,))
    if Need.TRACES in needs:
        program = program.with_contents_of(synthetic_scan(count))
    embeddings = None
    if Need.EMBEDDINGS in needs:  # random ones of the instruction sequences, far apart
        embeddings = np.random.default_rng(1).normal(size=(len(np.unique(stream_of(count))), 256)).astype(np.float32)
    program = replace(program, seed=seed, embeddings=embeddings)
    config = parse_config({"version": 1, "policy": name, "seed": seed, **settings})
    return chosen(config), program


def run(
    name: str,
    y: np.ndarray | None = None,
    order: Order = lambda wanted: wanted,
    bound: Bound = "none",
    times: np.ndarray | None = None,
) -> tuple[Engine, float, np.ndarray]:
    """Run a policy on a synthetic program with results that are all known; returns the engine, the estimated total, and `y`.

    Args:
        name: name of the policy.
        y: float64 [N], result of each launch; None: results for which the policy's estimate must equal the true total.
        order: permutes the launches of a pass (round of sampling) into the order in which their results arrive.
        bound: kind of bound of the error budget.
        times: float64 [N], times of the profile; None: synthetic ones.
    """
    policy, program = make(name, LAUNCHES if y is None else len(y), times=times)
    design, method = _design(policy, program), policy.estimate
    if y is None:
        y = 7.0 * design.x if method == "separate_ratio" and design.x is not None else np.full(program.size, 7.0)
    engine = Engine(design, ErrorBudget(0.05, bound=bound), method)
    *_, look = passes(engine, ("cycles",), y, order)
    return engine, look.estimates["cycles"].estimate, y


def _design(policy: Policy, program: Program) -> Design:
    """Make the design of a policy for a program without predictions."""
    design = design_of(policy, program)
    assert isinstance(design, Design), "a design with predictions, of launches without any"
    return design


def _near(value: float, wanted: float) -> bool:
    return abs(value - wanted) <= 1e-12 * abs(wanted)


# ---- the checks ------------------------------------------------------------------------------------------------------


def inputs_are_a_set_of_needs(name: str) -> None:
    """Check that the inputs of a policy are members of :class:`~kernelpoint.workload.Need`, whichever inputs are available."""
    for available in (Available(), Available(traces=True), Available(traces=True, model=True)):
        needs = load_policy(name).inputs(available)
        assert isinstance(needs, frozenset), f"inputs: got {needs!r}; expected a frozenset of Need"
        assert all(isinstance(need, Need) for need in needs), f"inputs: got {set(needs)!r}; expected members of Need"


def parameters_have_defaults_and_descriptions(name: str) -> None:
    """Check that a policy works with its default parameters, and that each parameter is documented."""
    parameters = load_policy(name).Parameters
    keys = keys_of(parameters)
    forgotten = {*vars(parameters).get("__annotations__", ())} - {key.name for key in keys}
    assert not forgotten, f"write @dataclass(frozen=True) above class Parameters; {min(forgotten)} is no parameter without it"
    for key in keys:
        assert key.default is not MISSING, f"parameter {key.name} has no default"
        assert key.description, f"parameter {key.name} has no description"


def bounds_estimates_and_documentation_are_stated(name: str) -> None:
    """Check that a policy has a docstring, and names kinds of bounds and estimators that exist; and that it states no bound if
    it chooses launches without chance.
    """
    kind = load_policy(name)
    assert kind.__doc__, "no docstring"
    assert kind.bounds and set(kind.bounds) <= {*get_args(Bound)}
    assert kind.estimate in get_args(Method)
    assert _design(*make(name)).chosen is None or kind.bounds == ("none",), "a purposive sample has no bound"


def a_missing_input_is_named(name: str) -> None:
    """Check that a policy refuses a program without an input that it needs, and that the message names the policy."""
    policy, _ = make(name)
    if not policy.inputs(Available()):
        return
    try:
        policy.design(Program((5,)))
    except PolicyError as error:
        assert name in str(error), f"the message does not name the policy: {error}"
    else:
        raise AssertionError("a design was made without the inputs that the policy asks for")


def equal_populations_and_seeds_give_equal_designs(name: str) -> None:
    """Check that equal programs and seeds give equal designs."""
    np.testing.assert_equal(vars(_design(*make(name))), vars(_design(*make(name))), "design")


def the_population_is_not_changed(name: str) -> None:
    """Check that a policy does not change the program."""
    policy, program = make(name)
    before = copy.deepcopy(program)
    policy.design(program)
    np.testing.assert_equal(program.u, before.u, "u was changed")
    for now, then in ((program, before), (program.labels, before.labels), (program.contents, before.contents)):
        for field, value in vars(then).items() if then is not None else ():
            if isinstance(value, np.ndarray):
                np.testing.assert_equal(getattr(now, field), value, f"{field} was changed")


def every_launch_is_in_a_stratum_or_simulated(name: str) -> None:
    """Check that strata are numbered 0 ... H - 1 without gaps; -1 marks launches that are always simulated."""
    policy, program = make(name)
    design = _design(policy, program)
    assert len(design.strata) == program.size
    assert (design.sizes > 0).all(), "a stratum without launches"
    assert np.array_equal(np.unique(design.strata[design.strata >= 0]), np.arange(len(design.first_sizes)))


def populations_of_any_size_are_estimated(name: str) -> None:
    """Check that programs of every size are estimated, from one launch on."""
    for count in (1, 2, 30, 31):
        _, estimate, y = run(name, np.arange(1.0, count + 1))
        assert estimate > 0
        assert count > 1 or _near(estimate, y.sum())


def launches_of_equal_cost_are_estimated_exactly(name: str) -> None:
    """Check that the estimate is exact if all launches have equal results (or results in proportion to their instructions, for
    a ratio estimator).
    """
    for bound in get_args(Bound):
        _, estimate, y = run(name, bound=bound)
        assert _near(estimate, y.sum()), f"bound {bound}: weights do not add up"


def strata_without_variance_and_of_one_launch_keep_their_weight(name: str) -> None:
    """Check that strata without variance or with one launch count in the total."""
    for times in (np.full(LAUNCHES, 5000.0), np.where(np.arange(LAUNCHES) == 60, 9e6, 1000.0)):
        engine, estimate, y = run(name, times=times)
        design = _design(*make(name, times=times))
        drawn = np.bincount(design.strata[engine.results.units] + 1, minlength=len(design.sizes) + 1)[1:]
        assert (drawn > 0).all(), "a stratum without a sampled launch"
        assert _near(estimate, y.sum())


def results_out_of_order_give_the_same_estimate(name: str) -> None:
    """Check that the order of results within a pass does not change the estimate."""
    y = np.random.default_rng(3).lognormal(size=LAUNCHES)
    assert _near(run(name, y)[1], run(name, y, order=lambda wanted: wanted[::-1])[1])


def the_estimate_uses_no_launch_that_was_not_simulated(name: str) -> None:
    """Check that the estimate uses no result of a launch that was not simulated."""
    y = np.random.default_rng(4).lognormal(size=LAUNCHES)
    engine, estimate, _ = run(name, y)
    others = np.full(len(y), 1e9)
    others[engine.results.units] = y[engine.results.units]
    assert run(name, others)[1] == estimate


def a_stated_bound_holds(name: str) -> None:
    """Check coverage: of RUNS runs with a budget of 5 % at 95 % confidence on each of three synthetic programs, at least
    LEAST_RIGHT have an interval that contains the true total. The shares are printed. A policy without a bound is not checked.
    """
    bound = load_policy(name).bounds[0]
    if bound == "none":
        sys.stdout.write(f"{name}: no bound tested, because it states none\n")
        return
    random = generator(0, "conformance")
    quiet = 1000.0 * (1.0 + stream_of(MEASURED_LAUNCHES)) * random.lognormal(0.0, 0.02, MEASURED_LAUNCHES)
    truths = {
        "quiet launches": quiet,
        "launches that take longer and longer": quiet * np.linspace(1.0, 2.0, len(quiet)),
        "launches of which 1 in 50 takes three times as long": np.where(random.random(len(quiet)) < 0.02, 3.0, 1.0) * quiet,
    }
    for what, y in truths.items():
        right = 0
        for seed in range(RUNS):
            policy, program = make(name, len(y), seed)
            engine = Engine(_design(policy, program), ErrorBudget(0.05, bound=bound), type(policy).estimate)
            *_, look = passes(engine, ("cycles",), y)
            right += look.estimates["cycles"].contains(float(y.sum()))
        sys.stdout.write(f"{name}: the bound holds in {right} of {RUNS} runs on {what}\n")
        assert right >= LEAST_RIGHT, f"the bound holds in {right} of {RUNS} runs on {what}; expected {LEAST_RIGHT} at least"


CHECKS: tuple[Callable[[str], None], ...] = (
    inputs_are_a_set_of_needs,
    parameters_have_defaults_and_descriptions,
    bounds_estimates_and_documentation_are_stated,
    a_missing_input_is_named,
    equal_populations_and_seeds_give_equal_designs,
    the_population_is_not_changed,
    every_launch_is_in_a_stratum_or_simulated,
    populations_of_any_size_are_estimated,
    launches_of_equal_cost_are_estimated_exactly,
    strata_without_variance_and_of_one_launch_keep_their_weight,
    results_out_of_order_give_the_same_estimate,
    the_estimate_uses_no_launch_that_was_not_simulated,
    a_stated_bound_holds,
)
