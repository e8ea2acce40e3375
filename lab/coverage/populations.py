"""Populations with known totals (real profiles, full runs of simulators, made-up ones), and runs of the shipped policy on them.

Each comes with the inputs of the shipped policies, which are known before anything is simulated: scanned and embedded traces,
or names and shapes (workload.Population), or predictions.

Full runs of the embedded host, of real traces and synthesised workloads on both packaged GPUs, are recorded once. They lie in
the folder KERNELPOINT_COVERAGE_RUNS (default: `coverage` in the cache). What is missing is made: archives are unpacked,
workloads synthesised, and every launch is simulated with policy `all`; its journal is the record.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
import tarfile
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import zstandard
from made_up import MADE_UP
from trouble import Launches

import kernelpoint as kp
from kernelpoint.config import parse_config
from kernelpoint.encoder import embed_streams
from kernelpoint.estimation import AssistedDesign, Design, Engine, ErrorBudget, Look, passes
from kernelpoint.estimation.strata.stratify import Stratification, stratify
from kernelpoint.fast_model.configuration import configuration_of_host
from kernelpoint.journal import load_run
from kernelpoint.planning.plan import Plan
from kernelpoint.policies.methods import kernelpoint as shipped
from kernelpoint.profiles import read_profile
from kernelpoint.program import Program, ProgramBuilder
from kernelpoint.randomness import permanent_random_numbers
from kernelpoint.simulators import simulator
from kernelpoint.traces import cache_folder, read_trace_list, scan_launches
from kernelpoint_lab.commands.synth import synth

SHARED_DATA = Path(os.environ.get("KERNELPOINT_SHARED_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
REAL = {  # archive of each
    "simpletorch3": "simpletorch3",
    "simpletorch": "simpletorch",
    "simpleopacus": "simpleopacus",
    "bfs": "rodinia_bfs",
}
# A trace that is cut short, and a list that names traces which the archive does not hold
LEFT_OUT = {"simpleopacus": ("kernel-28509.traceg", "kernelslist.g")}
SYNTHESISED = ("transformer-decode", "cnn-inference", "iterative-solver", "graph-traversal")
LAUNCHES = 3000  # of a synthesised workload
GPUS = ("v100", "rtx")
FOLDER = Path(os.environ.get("KERNELPOINT_COVERAGE_RUNS", cache_folder() / "coverage"))  # of traces and journals
RUNS = tuple(f"{workload} {gpu}" for workload in (*REAL, *SYNTHESISED) for gpu in GPUS)
PROFILES = (
    "h100_owlv2",
    "v100_df_index",
    "v100_resnet50",
    "rtx2080ti_resnet",
    "a100_control",
    "a100_nccl",
    "a100_negative_queue",
    "b200_eager",
)


class Run(NamedTuple):
    """Finished sampled run with known true values.

    Attributes:
        values: true value of each counter for each launch, float64 [N], by name.
    """

    engine: Engine
    look: Look
    values: Mapping[str, np.ndarray]

    def held(self, counter: str = "cycles") -> bool:
        """True if the confidence interval of the counter contains the true total."""
        return self.look.estimates[counter].contains(float(self.values[counter].sum()))

    def error(self, counter: str = "cycles") -> float:
        """Relative error of the counter's estimated total."""
        return self.look.estimates[counter].estimate / float(self.values[counter].sum()) - 1.0

    @property
    def spent(self) -> float:
        """Share of the total cycles that was simulated."""
        y = self.values["cycles"]
        return float(y[self.engine.drawn()].sum() / y.sum())


@dataclass(frozen=True, eq=False)
class Population(Launches):
    """Population of launches for measurements of coverage: true results y (cycles or times), and the inputs of sampling
    policies.

    Attributes:
        program: names, shapes and traces of the launches, as input of KernelPoint's policy; None if the population has
            predictions.
        counters: true values of other counters, float64 [N] by name.
        predictions: prediction of each counter, or its mean; None: the policy runs without predictions.
        latency: constant part of the cycles of each launch; 0 if the simulator states none.
    """

    name: str = ""
    program: Program | None = None
    counters: Mapping[str, np.ndarray] = field(default_factory=dict)
    predictions: Mapping[str, Any] | None = None
    latency: float = 0.0
    assume: str = "ordinary"

    @property
    def values(self) -> dict[str, np.ndarray]:
        """True value of every counter for each launch, float64 [N]."""
        return {**self.counters, "cycles": self.y}

    def with_times(self, times: np.ndarray) -> Population:
        """The population with the times of another run of its launches, which become predictions as in the shipped policy."""
        assert self.program is not None
        design = policy(ErrorBudget(0.05)).design(replace(self.program, duration=times, counters={}))
        assert isinstance(design, AssistedDesign)
        return replace(self, predictions=design.predictions)

    def with_trouble(self, trouble: str, seed_of: str) -> Population:
        """The population with one kind of disturbance added to its results, which neither covariates nor predictions show."""
        return replace(self, name=f"{self.name}, {trouble}", y=self.troubled(trouble, seed_of), counters={})

    def design(self, budget: ErrorBudget, seed: int) -> Design | AssistedDesign:
        """Design that KernelPoint's policy makes with this error budget and seed."""
        u = permanent_random_numbers(seed, 0, len(self.y))
        if self.predictions is not None:
            return replace(_assisted(self), u=u)
        wanted = budget.relative_error, budget.confidence, budget.counter
        return _strata(self, *wanted).design(u, seed).with_latency(self.latency)

    def run(self, budget: ErrorBudget, seed: int, counters: tuple[str, ...] = ("cycles",), **changed: np.ndarray) -> Run:
        """Make a sampled run with KernelPoint's policy. `changed` has other values of counters, by name."""
        engine, values = Engine(self.design(budget, seed), budget), {**self.values, **changed}
        return Run(engine, last_look(engine, counters, np.stack([values[name] for name in counters], axis=1)), values)


def last_look(engine: Engine, counters: tuple[str, ...], values: np.ndarray) -> Look:
    """Sample until the error budget is met or all launches are drawn, and return the last estimates."""
    *_, look = passes(engine, counters, values)
    return look


def policy(budget: ErrorBudget, seed: int = 0, assume: str = "ordinary") -> shipped.KernelPoint:
    """The shipped policy, configured as a user would."""
    wanted = {"relative_error": budget.relative_error, "confidence": budget.confidence, "counter": budget.counter}
    keys = {"version": 1, "policy": "kernelpoint", "error_budget": wanted, "seed": seed, "assume": assume}
    return shipped.KernelPoint(parse_config(keys))


@lru_cache(maxsize=64)
def _assisted(people: Population) -> AssistedDesign:
    none = np.zeros(len(people.y))
    return AssistedDesign(people.predictions, people.kernel, none, people.assume, people.latency, people.signature)


@lru_cache(maxsize=64)
def _strata(people: Population, eps: float, confidence: float, counter: str) -> Stratification:
    """The strata that the shipped policy asks for; they do not depend on the seed, so they are made once."""
    made: list[Stratification] = []

    def watch(*levels: Any, **options: Any) -> Stratification:
        made.append(stratify(*levels, **options))
        return made[0]

    with mock.patch.object(shipped, "stratify", watch):
        policy(ErrorBudget(eps, confidence, counter=counter), 0, people.assume).design(people.program)
    return made[0]


# ---- full runs ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def trace_folder(workload: str) -> Path:
    """The folder with the traces of a workload, unpacked or synthesised if need be.

    Raises:
        FileNotFoundError: the archive of a real workload is not there.
    """
    folder = FOLDER / workload
    if not folder.exists() and workload in SYNTHESISED:
        synth(workload, folder, launches=LAUNCHES)
    elif not folder.exists():
        _unpack(REAL[workload], folder)
    return next(folder.rglob("kernel-1.traceg*")).parent


def _unpack(archive: str, folder: Path) -> None:
    with (SHARED_DATA / "accelsim_traces" / f"{archive}.tar.zst").open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
        with tarfile.open(fileobj=stream, mode="r|") as members:
            members.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 and older have none
            members.extractall(folder)
    for name in LEFT_OUT.get(archive, ()):
        for left_out in folder.rglob(name):
            left_out.unlink()


def known_from_traces(paths: Sequence[str]) -> Program:
    """Read the launches of a trace list as a run does: traces are scanned, and every distinct instruction sequence is
    embedded.
    """
    scan = scan_launches(paths)
    return replace(scan, embeddings=embed_streams(scan.read))


def list_of(workload: str) -> str:
    """The trace list of a workload, or its folder where it has none."""
    folder = trace_folder(workload)
    listed = folder / "kernelslist.g"
    return str(listed if listed.exists() else folder)


@lru_cache(maxsize=32)
def _known(workload: str) -> Program:
    return known_from_traces(read_trace_list(list_of(workload)).traces)


@lru_cache(maxsize=32)
def full_run(name: str) -> tuple[Program, dict[str, np.ndarray]]:
    """Launches of a full run with the inputs of policies, and the true counters of each, float64 [N], by name."""
    workload, gpu = name.split()
    folder = FOLDER / f"{workload}-{gpu}"
    journal = folder / "run.kpjournal"
    if not journal.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / "unfinished.kpjournal"
        kp.simulate(list_of(workload), unfinished, gpu, "all")
        unfinished.rename(journal)
    return _known(workload), dict(read_profile(str(journal)).counters)


# ---- by name --------------------------------------------------------------------------------------------------------


def with_metadata(name: str, y: np.ndarray, light: Program) -> Population:
    """Population of which only names and shapes are known."""
    return Population(y, light.names.numbers, light.signature, name, replace(light, measured=True))


def with_traces(name: str, y: np.ndarray, program: Program, counters: Mapping[str, np.ndarray] | None = None) -> Population:
    """Population of which the traces are known."""
    return Population(y, program.names.numbers, program.stream_ids, name, program, counters or {})


def _profile(name: str) -> Population:
    """A real GPU profile without NCCL kernels: y is the duration; its names and shapes are known, its times are not.

    name: of the shared data, or a file.
    """
    file = Path(name)
    if not file.is_file():
        if not (SHARED_DATA / "profiles").is_dir():
            sys.exit(f"{name}: no such file, and no shared profiles; set KERNELPOINT_SHARED_DATA to their folder")
        file = SHARED_DATA / "profiles" / f"{name}.csv.gz"
    full = read_profile(file).without_communication()
    return with_metadata(name, full.duration, full.without_results())


def _simpletorch() -> tuple[np.ndarray, Program]:
    """Full run of simpletorch in Accel-Sim (SM7_QV100): true cycles of each launch, and the program."""
    with gzip.open(SHARED_DATA / "ground_truth" / "simpletorch_accelsim_qv100.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    folder = trace_folder("simpletorch")
    return np.array([float(row["cycles"]) for row in rows]), known_from_traces([str(folder / r["trace"]) for r in rows])


@lru_cache(maxsize=64)
def population(name: str) -> Population:
    """A population by name: `WORKLOAD GPU` of RUNS, one of made_up.py, or a profile; `BASE:TROUBLE` has trouble planted
    in it (trouble.py).
    """
    if name in MADE_UP:
        return with_metadata(name, *MADE_UP[name]())
    if ":" in name:
        base, trouble = name.split(":")
        return population(base).with_trouble(trouble, f"{base} {trouble}")
    if name == "simpletorch accelsim":
        return with_traces(name, *_simpletorch())
    if name in RUNS:
        program, counters = full_run(name)
        return with_traces(name, counters["cycles"], program, counters)
    return _profile(name)


def full_runs(options: Namespace) -> Iterator[Population]:
    """The full runs FOLDER/NAME-TRUTH.csv, each with the predictions of FOLDER/NAME-MODEL.csv (`kernelpoint-host -results`), or
    with names and CTAs only (`--known names`), or with these and warp instructions (`--known counts`).

    `--model predictions`: the journals FOLDER/NAME-TRUTH.kpjournal of runs that simulated every launch, each with the
    predictions of the sampled run FOLDER/NAME-predictions.kpjournal, or with names, counts or traces of `--lists NAME=LIST`.
    """
    if options.model == "predictions":
        for path in sorted(options.folder.glob(f"*-{options.truth}.kpjournal")):
            name = path.name.removesuffix(f"-{options.truth}.kpjournal")
            yield _recorded(path, name, options.known, options.lists.get(name))
        return
    if options.known != "model":
        for path in sorted(options.folder.glob(f"*-{options.truth}.csv")):
            name, truth = path.name.removesuffix(f"-{options.truth}.csv"), read_profile(path)
            counts = {key: truth.counters[key] for key in ("ctas", "warp_instructions")}
            yield _described(truth.counters["cycles"], truth.names, counts, name, options.known)
        return
    latency = int(configuration_of_host(options.model).values["launch_latency"])
    terms = options.truth if options.truth == "accelsim" else "kernelpoint-host"
    for path in sorted(options.folder.glob(f"*-{options.truth}.csv")):
        name = path.name.removesuffix(f"-{options.truth}.csv")
        truth, model = (read_profile(options.folder / f"{name}-{run}.csv") for run in (options.truth, options.model))
        kernel = np.unique(truth.names, return_inverse=True)[1]
        predictions = simulator(terms).counters_of(dict(model.counters), latency=latency)
        counters = dict(truth.counters)
        shape = np.unique(np.stack([kernel, counters.get("ctas", kernel)]), axis=1, return_inverse=True)[1]
        yield Population(counters["cycles"], kernel, shape, name, None, counters, predictions)


def _described(y: np.ndarray, names: Iterable[str], counts: Mapping[str, np.ndarray], name: str, knowledge: str) -> Population:
    """A full run with the cycles y, of which names, CTAs and, if `knowledge` is counts, warp instructions are known."""
    builder = ProgramBuilder(name)
    columns = zip(names, counts["ctas"].tolist(), counts["warp_instructions"].tolist(), strict=True)
    for launch, (kernel, ctas, count) in enumerate(columns):
        counters = {"warp_instructions": count} if knowledge == "counts" else {}
        builder.add(kernel, (int(ctas), 1, 1), (1, 1, 1), order=launch, counters=counters)
    program = builder.finish()
    return Population(y, program.names.numbers, program.signature, name, program)


def _recorded(journal: Path, name: str, knowledge: str, trace_list: str | None) -> Population:
    """Make a population from a full run in a simulator. Its launches are known by the predictions of a sampled run, whose
    journal lies beside that of the full run, or by what the trace list shows.
    """
    run = load_run(journal)
    cycles = np.array([run.results[unit].counters["cycles"] for unit in range(sum(run.header.launches))])
    if knowledge == "model":
        plan = Plan.load(str(load_run(journal.with_name(f"{name}-predictions.kpjournal")).header.plan), Program((len(cycles),)))
        kernel = np.unique([str(plan.name_of_unit(unit)) for unit in range(len(cycles))], return_inverse=True)[1]
        return Population(cycles, kernel, kernel, name, None, {}, dict(plan.design.means))
    if trace_list is None:
        raise SystemExit(f"{name}: --known {knowledge} needs --lists {name}=LIST")
    traces = read_trace_list(trace_list).traces
    if knowledge == "traces":
        return with_traces(name, cycles, known_from_traces(traces))
    scan = scan_launches(traces)
    counts = {"ctas": scan.count("ctas"), "warp_instructions": scan.count("instructions")}
    return _described(cycles, scan.names, counts, name, knowledge)
