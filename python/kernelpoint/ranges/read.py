"""From the value of `ranges:` and the launches of a run to its ranges."""

from __future__ import annotations

from pathlib import Path

from kernelpoint.errors import ConfigError, ProfileError, shown
from kernelpoint.profiles.format import NOT_THIS, beginning_of, told_of
from kernelpoint.program import Program
from kernelpoint.progress import Log
from kernelpoint.ranges.ranges import Ranges
from kernelpoint.ranges.source import RangeSource
from kernelpoint.registry import Registry
from kernelpoint.workload import Population

SOURCES: Registry[RangeSource] = Registry("ranges", RangeSource, "kernelpoint.ranges.sources", "kernelpoint.ranges")


def read_ranges(value: str, launches: Program, log: Log) -> Ranges:
    """Read the ranges of a run's launches.

    Args:
        value: a file, or the word of a source without one (`names`, `detected`).

    Raises:
        ProfileError: the file is missing, of no known source, damaged, or of other launches; the message says where.
        ConfigError: no launch lies in a range, or there are too many ranges.

    >>> _ = Path("ranges.csv").write_text("launch,path\\n0,prefill\\n1,decode/layer.0\\n")
    >>> import numpy as np
    >>> shapes = np.zeros((3, 3), int)
    >>> read_ranges("ranges.csv", Program.of(["gemm"] * 3, shapes, shapes), print).paths
    ('', 'prefill', 'decode', 'decode/layer.0')
    """
    sources = SOURCES.load_all()
    source = next((candidate for candidate in sources if candidate.word and candidate.word == value), None)
    with told_of(f"ranges: {value}"):
        if source is None:
            beginning = beginning_of(Path(value))
            source = max(
                (candidate for candidate in sources if not candidate.word),
                key=lambda candidate: candidate.certainty(beginning),
            )
            if source.certainty(beginning) == NOT_THIS:
                allowed = "; ".join(candidate.description for candidate in sources)
                raise ProfileError(
                    f"ranges: {value} is no known file of ranges (it begins {beginning.first_line[:60]!r}); allowed: {allowed}"
                )
        paths = source().paths(Path(value), launches, log)
    if not any(paths):
        raise ConfigError(f"ranges: {shown(value)} names no range that contains a launch of this run")
    return Ranges.of(paths, value)


def ranges_for(value: str | None, population: Population, log: Log) -> Ranges | None:
    """Read the ranges of a population; None if the configuration names none.

    >>> ranges_for(None, Population((6,), seed=0), print) is None
    True
    """
    return None if value is None else read_ranges(value, population.launches, log)
