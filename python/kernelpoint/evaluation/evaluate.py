"""A comparison: cell after cell, each one policy, budget and seed, run on results that are already there, and kept on disk."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import kernelpoint
from kernelpoint.config import Config, parse_config
from kernelpoint.encoder import checkpoint_hash
from kernelpoint.errors import ConfigError, KernelPointError
from kernelpoint.estimation import AssistedDesign, Design
from kernelpoint.evaluation.workload import Workload
from kernelpoint.files import append_output, read_regular, write_output
from kernelpoint.planning.plan import Plan
from kernelpoint.policies.contract import Policy
from kernelpoint.policies.processes import design_of
from kernelpoint.policies.registry import load_policy
from kernelpoint.program import Program
from kernelpoint.progress import Log, silent
from kernelpoint.ratios import ACTIVE_CYCLES
from kernelpoint.registry import foreign_code
from kernelpoint.session.initial_states import InitialStates
from kernelpoint.session.loop import run_with_results
from kernelpoint.session.setup import Setup
from kernelpoint.workload import Available, FastModel, Need, complete, why_unassisted

CYCLES = "cycles"  # name of the results in a run, also where they are times
PACKAGE = Path(kernelpoint.__file__).parent
LIBRARIES = ("numpy", "scikit-learn")
MOST_BYTES = 1 << 30  # of the file of results


@dataclass(frozen=True)
class Cell:
    """One test in a comparison of sampling methods: policy, error budget, seed, and the kind of bound (None: the policy's usual
    one).
    """

    policy: str
    relative_error: float
    seed: int
    confidence: float = 0.95
    bound: str | None = None


def cells(policies: Sequence[str], budgets: Sequence[float], seeds: int, *settings: Any) -> Iterator[Cell]:
    """Tests of a comparison of sampling methods: every policy at every error budget with every seed."""
    return (Cell(*place, *settings) for place in product(policies, budgets, range(seeds)))


@dataclass(frozen=True)
class MethodResult:
    """Result of one test in a comparison of sampling methods. `reason` is set if the policy refused the workload.

    Attributes:
        error: (estimate - total) / total.
        error_beyond_latency: error as a share of the total without the constant latency of launches; nan if that is unknown.
        simulated, simulated_total: number of simulated launches and their total, launches that measure the error of restored
            caches included.
        validation: number of launches that measure the error of restored caches.
        cycle_speedup: total / simulated_total.
        bound: "promised" (the design claims the budget), the kind of bound that the run computed, or "none".
        half_width: relative half-width.
        held: True if |error| is within the half-width.
        from_truth: True if the run was planned from the same times that judge it.
    """

    workload: str
    policy: str
    relative_error: float
    confidence: float
    seed: int
    launches: int
    strata: int = 0
    simulated: int = 0
    validation: int = 0
    passes: int = 0
    total: float = math.nan
    simulated_total: float = math.nan
    estimate: float = math.nan
    error: float = math.nan
    error_beyond_latency: float = math.nan
    cycle_speedup: float = math.nan
    bound: str = "none"
    half_width: float = math.nan
    held: bool | None = None
    from_truth: bool = False
    planning_seconds: float = 0.0
    reason: str = ""


class Inputs:
    """Inputs of the sampling policies for one workload. Each is made once, and the seconds that it took are stored."""

    def __init__(self, workload: Workload, log: Log) -> None:
        self.workload = workload
        self.seconds: dict[Need, float] = {}
        self._log = log
        self._made = Program((workload.size,), traces=workload.program.traces)
        self._designs: dict[tuple[object, ...], tuple[Design | AssistedDesign, float]] = {}

    def program(self, policy: type[Policy], config: Config) -> tuple[Program, frozenset[Need], bool]:
        """Program (table of launches) with the inputs that a policy needs; the kinds of these inputs; and True if the program
        contains the true times.
        """
        profile, sees_truth = self._profile(policy)
        predictions, traces = self.workload.program.predictions, len(self.workload.program.traces) > 0
        with_model = replace(self._made, predictions=predictions)
        needs = policy.inputs(Available(profile, traces, why_unassisted(config, with_model) is None))
        made = self._complete(needs, config) if traces else self._made  # without, such a policy says itself what it lacks
        program = Program(made.counts, traces=made.traces)
        program = program if profile is None else program.with_times_of(profile)
        if needs & {Need.TRACES, Need.EMBEDDINGS} and made.contents is not None:
            program = program.with_contents_of(made)
        program = replace(
            program,
            seed=config.seed,
            embeddings=made.embeddings if Need.EMBEDDINGS in needs else None,
            predictions=predictions,
            predictor=None if predictions is None else FastModel("auto", self.workload.host, made.traces, self._log),
            measured=self.workload.counter == "ns",
        )
        return program, needs, sees_truth

    def _complete(self, needs: frozenset[Need], config: Config) -> Program:
        for need in (Need.TRACES, Need.EMBEDDINGS):
            if need in needs and need not in self.seconds:
                start = time.perf_counter()
                self._made = complete(self._made, frozenset({need}), config.encoder, self._log)
                self.seconds[need] = time.perf_counter() - start
        return self._made

    def design(self, policy: type[Policy], config: Config, program: Program) -> tuple[Design | AssistedDesign, float]:
        """Sampling design of a policy, and the seconds that it took. A design that does not depend on the error budget is made
        once.
        """
        key = (config.policy.name, config.seed, repr(config.error_budget) if policy.uses_budget else None)
        if any(other[0] != config.policy.name for other in self._designs):
            self._designs.clear()  # cells come policy by policy, and designs of many launches are large
        if key not in self._designs:
            start = time.perf_counter()
            design = design_of(policy(config), program)
            self._designs[key] = design, time.perf_counter() - start
        return self._designs[key]

    def _profile(self, policy: type[Policy]) -> tuple[Program | None, bool]:
        """Profile that a policy plans from, and whether its times are those that judge the policy.

        A policy that cannot do without times gets those of the truth; one that could use them, only where the user asked for
        it (`informed`); one that plans from counters gets these, and never the times. A profile of another run is given
        whole. If there are traces, no policy gets a profile in their place.
        """
        workload, profile = self.workload, self.workload.program
        traces = len(profile.traces) > 0
        uses_times = Need.PROFILE in policy.inputs(Available(profile, traces)) and not policy.counters
        needs_times = Need.PROFILE in policy.inputs(Available(None, traces=True))
        if needs_times or (workload.informed and uses_times):
            return profile, workload.from_truth
        if workload.from_truth:
            profile = profile.without_results(policy.counters)
        in_place_of_traces = Need.TRACES not in policy.inputs(Available(profile, traces))
        counted = any(name in profile.counters for name in policy.counters)
        return (None if traces and in_place_of_traces and not counted else profile), False


def evaluate(inputs: Inputs, cell: Cell) -> MethodResult:
    """Run one test: plan a run, replace the simulator by the known results, and compare the estimate with the true total.

    If the workload has traces, the run also draws the launches that measure the error of restored caches. Looked-up results
    show an error of zero; the bound still allows for an error too small to be noticed. If the policy refuses the workload,
    the row has the reason.
    """
    workload = inputs.workload
    row = MethodResult(workload.name, cell.policy, cell.relative_error, cell.confidence, cell.seed, workload.size)
    try:
        policy = load_policy(cell.policy)
        settings = {"bound": cell.bound} if cell.bound is not None else {}
        budget = {"relative_error": cell.relative_error, "confidence": cell.confidence, **settings}
        config = parse_config({"version": 1, "policy": cell.policy, "seed": cell.seed, "error_budget": budget})
        program, needs, sees_truth = inputs.program(policy, config)
        design, seconds = inputs.design(policy, config, program)
        planning = seconds + sum(inputs.seconds.get(need, 0.0) for need in needs)
        host = replace(workload.host, launch_counts=program.counts, state_lines=int(len(program.traces) > 0))
        host = host if workload.counter == "cycles" else replace(host, stated_latency=0)
        plan, full = Plan(program, design, {}), config.policy.name == "all"
        of_run = policy.budget_for(config), policy.estimate
        setup = Setup(config, host, policy, *of_run, plan, is_full_run=full)
        names, results = [CYCLES], [workload.results]
        if host.launch_latency:
            names, results = [CYCLES, ACTIVE_CYCLES], [*results, np.maximum(workload.results - host.launch_latency, 0.0)]
        run = run_with_results(setup, names, np.stack(results, axis=1), OneLaunchBefore(host, silent, plan=plan))
    except KernelPointError as error:
        return replace(row, reason=str(error))
    engine, look = run.sample.engine, run.sample.look
    assert look is not None, "the run has ended"
    validation = 0 if run.validation is None else run.validation.made
    estimate = look.estimates[CYCLES]
    bound, half_width = "none", math.nan
    if math.isfinite(estimate.half_width):
        bound, half_width = policy.bound_for(config), estimate.relative_half_width
    elif policy.promises_budget:
        bound, half_width = "promised", config.error_budget.relative_error
    off = estimate.estimate - workload.total
    held = None if bound == "none" else bool(abs(off) <= half_width * abs(estimate.estimate) + 1e-9 * workload.total)
    simulated = engine.results.totals[CYCLES]
    simulated += 0.0 if run.validation is None else run.validation.replay_check().cycles
    latency = workload.latency * workload.size
    return replace(
        row,
        strata=design.label_count,
        simulated=engine.results.count + validation,
        validation=validation,
        passes=engine.sampling.looks,
        total=workload.total,
        simulated_total=simulated,
        estimate=estimate.estimate,
        error=estimate.estimate / workload.total - 1.0,
        error_beyond_latency=off / (workload.total - latency) if latency else math.nan,
        cycle_speedup=workload.total / simulated if simulated > 0 else math.inf,
        bound=bound,
        half_width=half_width,
        held=held,
        from_truth=sees_truth,
        planning_seconds=planning,
    )


class OneLaunchBefore(InitialStates):
    """Cache state for comparisons without a simulator. Model: the previous launch fills every cache line, and earlier launches
    leave none.
    """

    def shares_left(self, launch: int, most: int) -> np.ndarray:
        return np.ones(1)


# ---- all cells -------------------------------------------------------------------------------------------------------


@cache
def code_version(package: Path = PACKAGE) -> str:
    """Hash of KernelPoint's code and of the versions of its libraries, 32 hexadecimal digits.

    It is part of the key of a stored result, so that results of older code are not used again.

    >>> len(code_version())
    32
    """
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted([*package.rglob("*.py"), *package.glob("_native*.so")]):
        content = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        digest.update(f"{path.relative_to(package)}:{content}\n".encode())
    for library in LIBRARIES:
        digest.update(f"{library}:{metadata.version(library)}\n".encode())
    return digest.hexdigest()


class ResultsFile:
    """File with results of a comparison, one line of JSON each. The key of a result covers the inputs, the test and the code.

    >>> import tempfile
    >>> results = ResultsFile(Path(tempfile.mkdtemp()) / "rows.jsonl")
    >>> results.find("key") is None
    True
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._rows: dict[str, MethodResult] = {}
        if path is None or not path.exists():
            return
        data = read_regular(path, MOST_BYTES)
        whole = data[: data.rfind(b"\n") + 1]  # a last line without its end was torn by a kill
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                record = json.loads(line)
                self._rows[record["key"]] = MethodResult(**record["row"])
            except (ValueError, KeyError, TypeError):
                raise ConfigError(
                    f"{path}:{number}: this line is no result of a comparison that `kernelpoint compare` wrote; name another "
                    "output folder"
                ) from None
        if len(whole) != len(data):
            write_output(path, whole)

    def find(self, key: str) -> MethodResult | None:
        """Stored result with this key; None if there is none."""
        return self._rows.get(key)

    def keep(self, key: str, row: MethodResult) -> None:
        """Store a result. A workload that a policy refused is not stored, because the missing input may be given later."""
        if self._path is None or row.reason:
            return
        append_output(self._path, json.dumps({"key": key, "row": asdict(row)}) + "\n")


def compare(workload: Workload, wanted: Sequence[Cell], results: ResultsFile, log: Log) -> Iterator[MethodResult]:
    """Run the tests of one workload, and return each result when it is available. Results in the file are not computed again.

    A policy that refuses the workload is tried with one seed only.
    """
    inputs = Inputs(workload, log)
    refused: dict[tuple[str, float], MethodResult] = {}
    base = f"{code_version()}:{workload.key()}"
    versions = {policy: _version(policy) for policy in {cell.policy for cell in wanted}}
    for cell in wanted:
        key = f"{base}:{cell}{versions[cell.policy]}"
        row = results.find(key) or refused.get((cell.policy, cell.relative_error))
        if row is None:
            row = evaluate(inputs, cell)
            results.keep(key, row)
            if row.reason:
                refused[(cell.policy, cell.relative_error)] = row
        yield row


def _version(policy: str) -> str:
    """Hashes of the file of a policy of another package, and of the checkpoint that its embeddings depend on, if any."""
    kind = load_policy(policy)
    code = foreign_code(kind)
    version = "" if code is None else f":{code}"
    if Need.EMBEDDINGS not in kind.inputs(Available(traces=True)):
        return version
    return f"{version}:{checkpoint_hash('builtin')}"
