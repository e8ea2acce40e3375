"""Workloads for comparisons: launches, their results in a full run, and the inputs of the methods."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelpoint.admission import admitted_profile, admitted_rows, check_kinds
from kernelpoint.config import Section, check_section
from kernelpoint.errors import ConfigError, JournalError, ProfileError
from kernelpoint.fast_model import MODEL_VERSION, Configuration, configuration_for, predict
from kernelpoint.fast_model.configuration import configuration_of_host
from kernelpoint.journal import HostRecord, load_run
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.repeated import Repeated, Texts
from kernelpoint.simulators import simulator
from kernelpoint.traces import read_trace_list
from kernelpoint.workload import aligned, labelled
from kernelpoint.workload.host_info import HostInfo

ITSELF = 0.5  # share of launches: between two simulated GPUs hardly any launch has equal cycles
UNKNOWN_HOST = HostInfo("the truth")
MODEL_IS_TRUTH = "so rows that plan from it say nothing about real runs; give fast_model= another GPU, such as rtx, or off"


@dataclass(frozen=True)
class Workload:
    """Workload for comparisons of sampling methods: N launches in program order, with their true results.

    Attributes:
        results: float64 [N], cycles or ns of each launch in the full run.
        counter: "cycles" or "ns".
        program: table of the launches: traces, if there are any; names, shapes, times and counters that methods may use;
            predictions of the fast model, unless it is off or a profile replaces it.
        from_truth: True if the times of `program` are the true results. Results of methods that use them are marked.
        host: description of the simulator that made the true results.
        informed: True if methods that do not need times get the times of `program` too.
        notes: sentences shown with the table.
    """

    name: str
    results: np.ndarray
    counter: str
    program: Program
    from_truth: bool
    latency: float = 0.0
    notes: tuple[str, ...] = field(default=())
    informed: bool = False
    host: HostInfo = UNKNOWN_HOST

    @property
    def size(self) -> int:
        """Number of launches."""
        return len(self.results)

    @property
    def total(self) -> float:
        """True total, from the full run."""
        return float(self.results.sum())

    def key(self) -> str:
        """Hash of everything in the workload that results of methods depend on."""
        digest = hashlib.blake2b(self.results.tobytes(), digest_size=12)
        digest.update(f"{self.program.hash()}{self.from_truth}{self.informed}{self.counter}{self.latency}{self.host}".encode())
        digest.update(self.program.fingerprint.launches.encode())
        predictions = self.program.predictions
        for name in sorted(predictions or ()):
            digest.update(name.encode() + np.asarray(predictions[name]).tobytes() if predictions else b"")
        return digest.hexdigest()


def load_workload(request: Request, communication: bool, log: Log) -> Workload:
    """Read a workload that a user named: true results, traces and profile.

    Args:
        request: files and settings of the workload.
        communication: True to keep kernels of communication libraries such as NCCL.
        log: function that receives lines for the user.

    Raises:
        ProfileError: a file cannot be read, its launches are not those of the true results, or a launch is shorter than the
            launch latency.
    """
    if request.truth is None:
        read = _simulated(str(request.traces), configuration_of_host(str(request.host)), log)
    else:
        read = admitted_profile(request.truth, request.accept, log, request.device)
    truth = read if communication else read.without_communication()
    notes = [f"{count:,} x {what} left out" for what, count in truth.left_out.items()]
    results = truth.time
    if not np.isfinite(results).all() or (results < 0).any() or results.sum() <= 0:
        raise ProfileError(f"{truth.source}: every launch needs a time or cycles of at least 0, and the sum must be above 0")
    latency, shortest = request.latency, results.min()
    if latency and not 0 <= latency < shortest:
        raise ProfileError(f"latency: got {latency:g}; allowed: 0 to below {shortest:g}, the shortest launch of {truth.source}")
    program = Program((truth.size,))
    if request.traces is not None:
        traces, more = _traces_of(truth, request.traces)
        program, notes = replace(program, traces=traces), [*notes, *more]
    informed, from_truth = request.profile == "truth", request.profile in (None, "truth")
    host = _host(request)
    if request.traces is not None and request.fast_model != "off" and request.profile in (None, MODEL):  # as in a run
        program = replace(program, predictions=_predictions(request, host, program, log))
    equal = 0 if program.predictions is None else int((program.predictions["cycles"] == results).sum())
    if equal > ITSELF * len(results):
        sentence = f"the fast model predicts the very cycles of the truth for {equal:,} launches, {MODEL_IS_TRUTH}"
        log(f"kernelpoint: {request.name}: {sentence}")
        notes.append(sentence)
    profile = truth
    if program.predictions is not None and request.profile == MODEL:
        profile = replace(program, source="fast model", counters=program.predictions)
    elif not from_truth:
        profile = _other_profile(request, truth, program, communication, log)
        if profile.has_times and np.array_equal(profile.time, results):
            from_truth = informed = True
            notes.append(f"{request.profile} holds the very times of the truth: methods that plan from it are marked")
    if not profile.is_named:
        profile = profile.with_labels_of(labelled(program))
    program = program.with_times_of(profile)
    counter = "ns" if np.isfinite(truth.duration).any() else "cycles"
    return Workload(request.name, results, counter, program, from_truth, latency, tuple(notes), informed, host)


def _predictions(request: Request, host: HostInfo, program: Program, log: Log) -> Repeated:
    """Predictions of the fast model for the launches of a program, under the names of its simulator."""
    listed = read_trace_list(str(request.traces)).traces
    gpu = configuration_for(request.fast_model, host.simulator, host.configuration, host.config_hash, listed, log)
    columns = _simulated(str(request.traces), gpu, log).predictions
    assert columns is not None
    latency = int(gpu.values["launch_latency"])
    in_terms = simulator(host.simulator).counters_of(columns.of_kind, host.configuration, latency)
    return Repeated(columns.kinds, in_terms).take(_rows(program.traces, listed))


def _simulated(traces: str, gpu: Configuration, log: Log) -> Program:
    """The full run of the embedded host over a list. It is the fast model itself, so it is recalled where that ran before."""
    made = predict(read_trace_list(traces), gpu, log)
    assert made.predictions is not None
    about = f"fast model ({gpu.name} {gpu.hash}, model {MODEL_VERSION})"
    return Program((made.size,), source=about, counters=made.predictions, predictions=made.predictions)


def _rows(wanted: Sequence[str], present: Sequence[str]) -> np.ndarray:
    """int64 [n]: the row of each name among those present, any of equal ones; -1 where there is none."""
    if wanted == present:
        return np.arange(len(wanted))
    row_of = {name: row for row, name in enumerate(present)}
    return np.array([row_of.get(name, -1) for name in wanted], dtype=np.int64)


def _file_names(traces: Sequence[str]) -> list[str]:
    return [Path(path).name for path in traces]


def _host(request: Request) -> HostInfo:
    """Description of the simulator that made the true run; its launch latency comes from its options, else from the
    request.
    """
    lists = (request.traces,)
    if request.host is not None:
        return HostInfo("kernelpoint-host", config_hash=configuration_of_host(request.host).hash, list_paths=lists)
    stated, config_hash = HostRecord(), ""
    with suppress(JournalError):  # another kind of profile
        run = load_run(str(request.truth))
        stated, config_hash = run.header.host, str(run.hashes.get("simulator_config") or "")
    if not stated.simulator:
        return HostInfo("the truth", config_hash=config_hash, list_paths=lists, stated_latency=int(request.latency))
    return HostInfo(stated.simulator, stated.version, config_hash, list_paths=lists, configuration=stated.configuration)


def _traces_of(truth: Program, traces: str) -> tuple[Texts, list[str]]:
    """The trace of every launch of the truth, by file name where the truth has them, by position otherwise."""
    listed = read_trace_list(traces).traces
    if not len(truth.traces):
        if truth.size != len(listed):
            raise ProfileError(f"{truth.source} has {truth.size} launches, {traces} lists {len(listed)}; give files of one run")
        return listed, []
    names, listed_names = _file_names(truth.traces), _file_names(listed)
    if names == listed_names:
        return listed, []
    rows = _rows(names, listed_names)
    if len(missing := np.flatnonzero(rows < 0)):
        launch = truth.traces[int(missing[0])]
        raise ProfileError(f"{truth.source}: launch {launch} ({len(missing)} such) is not in {traces}; give files of one run")
    note = f"{truth.size:,} of the {len(listed):,} launches of the list have results; the others are left out"
    return listed.take(rows), [note]


def _other_profile(request: Request, truth: Program, program: Program, communication: bool, log: Log) -> Program:
    """A profile of another run, its rows brought into the order of the truth."""
    path = str(request.profile)
    if path.startswith(HOST):
        full = _simulated(str(request.traces), configuration_of_host(path.removeprefix(HOST)), log)
        return full.take(_rows(program.traces, read_trace_list(str(request.traces)).traces))
    profile = admitted_profile(path, request.accept, log)
    profile = profile if communication else profile.without_communication()
    if len(profile.traces) and len(truth.traces):
        return profile.take(_rows(_file_names(truth.traces), _file_names(profile.traces)))
    if profile.size == truth.size and profile.names == truth.names:
        return profile
    if len(program.traces):
        return aligned(profile, program, log, request.accept)
    matched = admitted_rows(profile, truth, request.accept, lambda line: log(f"kernelpoint: {line}"))
    return profile.take(matched).with_labels_of(truth)


HOST = "host:"  # begins a profile that the embedded host makes
MODEL = "model"  # the profile that the fast model makes


@dataclass(frozen=True)
class Request(Section):
    """Description of a workload, parsed from the command line.

    Attributes:
        truth: file with the results of every launch in the full run.
        name: name of the workload in tables.
        traces: trace list of the workload.
        profile: times or counters for the methods:

            empty      the true results, for methods that need times
            truth      the true results, for all methods that can use times
            host:NAME  a full run of the embedded host (KernelPoint's small simulator) with that configuration
            model      predictions of the fast model (KernelPoint's analytic GPU model)
            FILE       a profile

        host: configuration of the embedded host that simulates the full run.
        fast_model: configuration of the fast model, as in kernelpoint.yaml. `auto`: another GPU than the host's, or else the
            nearest shipped one; `off`: no predictions.
        device: number of the GPU in the file `truth`.
        latency: constant cost of each launch in cycles, which no method can save; errors are also shown without it.
        accept: kinds of defects that do not refuse the workload, separated by `+`.
    """

    truth: str | None = None
    name: str = ""
    traces: str | None = None
    profile: str | None = None
    host: str | None = None
    fast_model: str = "auto"
    device: int | None = None
    latency: float = 0.0
    accept: list[str] = field(default_factory=list)


def parse_request(text: str) -> Request:
    """Parse the description of a workload: a file name, or key=value pairs separated by commas.

    Raises:
        ConfigError: a key is unknown, or there is neither a file with true results nor a configuration to simulate them.

    >>> parse_request("v100.csv").name, parse_request("truth=a.csv,name=b,traces=k.g").traces
    ('v100', 'k.g')
    """
    fields: dict[str, Any] = dict(part.partition("=")[::2] for part in text.split(",")) if "=" in text else {"truth": text}
    for key, kind in (("device", int), ("latency", float)):
        with suppress(KeyError, ValueError):
            fields[key] = kind(fields[key])
    fields["accept"] = [*filter(None, fields.get("accept", "").split("+"))]
    request = check_section(Request, {key: value for key, value in fields.items() if value}, "--workload")
    check_kinds(request.accept, f"--workload {text}: accept")
    if request.truth is None and None in (request.host, request.traces):
        raise ConfigError(f"--workload {text}: needs truth=FILE, or host=CONFIG and traces=LIST")
    if request.traces is None and (request.profile == MODEL or str(request.profile).startswith(HOST)):
        raise ConfigError(f"--workload {text}: profile={HOST}NAME and profile={MODEL} need traces=LIST")
    return replace(request, name=request.name or _name_of(str(request.truth or request.traces)))


def _name_of(path: str) -> str:
    name = Path(path).name
    for suffix in (".gz", ".xz", ".csv", ".json", ".txt", ".kpjournal", ".sqlite", ".g"):
        name = name.removesuffix(suffix)
    return name if name != "kernelslist" else Path(path).resolve().parent.name
