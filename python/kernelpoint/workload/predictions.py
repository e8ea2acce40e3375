"""The fast model's predictions as an input of a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kernelpoint.progress import Log
from kernelpoint.repeated import Repeated
from kernelpoint.workload.host_info import HostInfo, ModelSource
from kernelpoint.workload.population import Population, named

if TYPE_CHECKING:
    from kernelpoint.program import Program


def with_model_source(population: Population, setting: str, simulator: HostInfo, log: Log) -> Population:
    """Add the fast model as a source of predictions to a population, unless it is off or a list is missing on the disk.

    Args:
        setting: `auto`, `off`, or a file; see :func:`kernelpoint.fast_model.configuration_for`.

    Raises:
        ConfigError: the file is refused.

    >>> from kernelpoint.workload import population_of
    >>> host = HostInfo("mine", list_paths=("traces/kernelslist.g",))
    >>> with_model_source(population_of(host, seed=0), "v100", host, print).model_source is None
    False
    """
    if setting == "off" or not population.has_traces or None in simulator.list_paths:
        return population
    source = ModelSource(setting, simulator, population.paths, log)
    if setting != "auto":
        _ = source.configuration  # a bad file is refused at once, used or not
    return replace(population, model_source=source)


def predicted(population: Population, log: Log) -> Population:
    """Add predictions of each launch to a population: made or read from the cache, under the simulator's counter names.

    >>> from kernelpoint.workload import population_of
    >>> host = HostInfo("mine", list_paths=("traces/kernelslist.g",))
    >>> population = with_model_source(population_of(host, seed=0), "v100", host, print)
    >>> predicted(population, lambda line: None).model.counters["cycles"].shape
    (6,)
    """
    from kernelpoint.fast_model import Predictions, in_terms_of, predict
    from kernelpoint.traces import read_trace_list
    from kernelpoint.traces.scan_launches import passing

    source = population.model_source
    assert source is not None
    simulator, configuration, parts = source.simulator, source.configuration, []
    for number, path in enumerate(simulator.list_paths):
        part = population.process(number)
        copies = part.copies[0] if part.copies else read_trace_list(str(path)).copies
        identity = part.fingerprint.files
        parts.append(predict(part.paths, copies, configuration, identity, log, scan=part.scan, pool=population.pool))
    predictions = Predictions.joined(parts)
    log(
        f"kernelpoint: the fast model predicts {int(predictions.predicted.sum()):,} of {predictions.size:,} launches "
        f"({predictions.configuration}, {predictions.config_hash}, model {predictions.model_version})"
    )
    profile, latency = predictions.profile(), int(configuration.values["launch_latency"])
    counters = Repeated(
        predictions.counters.kinds,
        in_terms_of(simulator.simulator, predictions.counters.of_kind, simulator.configuration, latency),
    )
    unread = (*population.unread, *passing(predictions.failures.values()))
    return replace(population, model=replace(profile, counters=counters), unread=unread)


def usable(model: Program, mask: np.ndarray) -> Repeated:
    """Predictions that can be covariates, by counter; 0 for launches that are not `mask`.

    Args:
        model: the fast model's counters.
        mask: bool [N], launches that it predicts.

    >>> from kernelpoint.workload import Population
    >>> from kernelpoint.fast_model import Predictions
    >>> counters = Repeated(None, {"cycles": np.array([7.0, np.nan]), "l2_misses": np.array([2.0, np.nan])})
    >>> usable(Predictions(counters, "v100", "", "").profile(), np.array([True, False]))["l2_misses"].tolist()
    [2.0, 0.0]
    """
    columns = model.counters if isinstance(model.counters, Repeated) else Repeated(None, model.counters)
    columns = columns.where(mask, 0.0)
    values = {name: np.asarray(column, dtype=float) for name, column in columns.of_kind.items()}
    present = slice(None) if columns.kinds is None else np.unique(columns.kinds)
    kept = {name: v for name, v in values.items() if np.isfinite(v[present]).all() and (v[present] >= 0.0).all()}
    return Repeated(columns.kinds, kept)


def model_profile(population: Population) -> Program | None:
    """Convert predictions to a profile with the names of the launches, for policies that plan from times.

    >>> from kernelpoint.workload import Population
    >>> model_profile(Population(counts=(6,), seed=0)) is None
    True
    """
    if population.model is None:
        return None
    profile = named(population.model, population.paths)
    unknown = np.isnan(profile.counters["cycles"])
    return profile.take(np.where(unknown, -1, np.arange(profile.size))) if unknown.any() else profile
