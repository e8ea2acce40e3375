"""Results of an earlier run over the same launches, which a run takes over in the place of simulating them again.

Each launch begins with replayed state, whatever else is simulated, so its result depends on neither the sample, nor the error
budget, nor the counter that the budget is put on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kernelpoint.errors import ConfigError
from kernelpoint.journal import ResultRecord, RunRecord, ValidationRecord, load_run
from kernelpoint.session.same_run import check_same_simulations

Counters = dict[str, float]


@dataclass(frozen=True)
class EarlierResults:
    """Results by launch (process, index), and those of validation launches by the launches of their chain, then by launch."""

    of_launch: dict[tuple[int, int], Counters] = field(default_factory=dict)
    of_chain: dict[tuple[int, ...], dict[int, Counters]] = field(default_factory=dict)


def read_earlier(path: str, now: RunRecord, counters: tuple[str, ...] | None) -> EarlierResults:
    """The results in the journal of an earlier run. Launches that were stopped inside are left out.

    Args:
        now: the first record of the run that takes them over.
        counters: of its simulator, where known.

    Raises:
        ConfigError: traces, simulated GPU or counters differ, or the earlier run was a full run.
        JournalError: the journal cannot be read.
    """
    run = load_run(path)
    strata = run.frozen.strata
    if strata is not None and not strata.units:
        raise ConfigError(
            f"results_from: {path} is of a full run, whose launches begin with other state than those of a sample; allowed: "
            "the journal of a sampled run"
        )
    check_same_simulations(replace(run.header, hashes=run.hashes), now, f"results_from: {path}")
    if counters is not None and run.counters and tuple(run.counters) != counters:
        lacking = sorted(set(counters) ^ set(run.counters))
        raise ConfigError(
            f"results_from: {path} has other counters than this simulator reports: {', '.join(lacking)[:200]}"
        )
    chains: dict[int, dict[int, Counters]] = {}
    for record in run.of(ValidationRecord):
        chains.setdefault(record.validation, {})[record.launch] = record.counters
    results = {(r.process, r.launch): r.counters for r in run.of(ResultRecord) if r.projection is None}
    return EarlierResults(results, {tuple(sorted(chain)): chain for chain in chains.values()})
