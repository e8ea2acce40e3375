"""Effects of findings on a run, and the reading of profiles with their checks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kernelpoint.admission.checks import findings_of, in_graphs, kinds
from kernelpoint.errors import AdmissionError, BudgetError, ConfigError, ProfileError, did_you_mean
from kernelpoint.finding import Effect, Finding
from kernelpoint.profiles import match, read_profile
from kernelpoint.program import Program
from kernelpoint.progress import Log


def admit(
    findings: Sequence[Finding], accepted: Collection[str], log: Log, prefix: str = "kernelpoint: "
) -> tuple[Finding, ...]:
    """Print the defects that input checks found, one line for each kind, and raise an error if one of them refuses the input.

    Args:
        findings: defects of the input.
        accepted: kinds of defects that the user accepts.
        log: function that receives the lines.
        prefix: beginning of each line.

    Returns:
        The findings, marked where the user accepts their effect.

    Raises:
        AdmissionError: a large defect refuses the input, and its kind is not accepted.
        BudgetError: so little of the input can be read that no error budget can be met.

    >>> (finding,) = admit([Finding("no-grid", "1 of 9 launches has no grid", "", 0.1, None, "none needed")], (), print)
    kernelpoint: no-grid: 1 of 9 launches has no grid; none needed
    >>> finding.accepted
    False
    """
    refusing = (Effect.REFUSES, Effect.BUDGET_CANNOT_BE_MET)
    refused = [finding for finding in findings if finding.outcome in refusing and finding.kind not in accepted]
    if refused:
        error = BudgetError if all(finding.outcome is Effect.BUDGET_CANNOT_BE_MET for finding in refused) else AdmissionError
        kinds = " ".join(f"--accept {finding.kind}" for finding in refused)
        keys = ", ".join(finding.kind for finding in refused)
        lines = "\n".join(finding.sentence() for finding in refused)
        raise error(
            f"the run is refused, because its input has problems:\n{lines}\nto run all the same, give {kinds}, or "
            f"`accept: [{keys}]` in the configuration"
        )
    admitted = []
    for finding in findings:
        accepts = finding.kind in accepted and finding.outcome is not Effect.NAMED
        states_none = finding.outcome is not Effect.NAMED and not accepts
        log(f"{prefix}{finding.sentence()}{' (accepted)' * accepts}{' (a run states no bound)' * states_none}")
        admitted.append(replace(finding, accepted=accepts))
    return tuple(admitted)


def withdrawing(findings: Iterable[Finding], accepted: Collection[str]) -> list[Finding]:
    """Defects because of which a run states no error bound and is never called "exact". `accepted` has the kinds that the user
    accepts.

    >>> withdrawing([Finding("zero-addresses", "", "", 1.0, None, "", Effect.WITHDRAWS)], ["zero-addresses"])
    []
    """
    return [finding for finding in findings if finding.outcome is not Effect.NAMED and finding.kind not in accepted]


def check_kinds(accepted: Iterable[str], option: str) -> None:
    """Raise an error for kinds of defects that no check reports.

    Args:
        accepted: kinds that the user named.
        option: name of the user's option, for the message.

    Raises:
        ConfigError: names the unknown kind and the allowed kinds.

    >>> check_kinds(["no-grid"], "--accept")
    """
    allowed = kinds()
    for kind in accepted:
        if kind not in allowed:
            raise ConfigError(f"{option}: got {kind!r}{did_you_mean(kind, allowed)}; allowed: {', '.join(sorted(allowed))}")


MATCHED_SHARE = 0.5  # of the launches (of the rows where there are fewer) that have to match


def admitted_profile(
    path: str | Path,
    accepted: Collection[str],
    log: Log,
    device: int | None = None,
    prefix: str = "kernelpoint: ",
    with_ranges: bool = False,
) -> Program:
    """Read a profile, print its defects, and raise an error if they are too large.

    Args:
        path: the file.
        accepted: kinds of defects that the user accepts.
        log: function that receives lines for the user.
        device: number of the GPU whose launches are read; needed if the file has launches of several GPUs.
        prefix: beginning of each line.
        with_ranges: True to read the range (phase, layer, module) that contains each launch.

    Raises:
        ProfileError: the profile cannot be read.
        AdmissionError: the profile has a large defect that the user does not accept.

    >>> admitted_profile("times.csv", ["zero-durations"], print).size
    6
    """
    profile = read_profile(path, device, with_ranges)
    admit(findings_of(profile), accepted, log, prefix)
    return profile


def admitted_rows(profile: Program, launches: Program, accepted: Collection[str], log: Log) -> np.ndarray:
    """Row of a profile for each launch of a list, int64 [N]; -1 for a launch without a row. Defects of the match are printed.

    Args:
        profile, launches: programs (tables of launches) of the profile and of the list.
        accepted: kinds of defects that the user accepts.
        log: function that receives lines for the user.

    Raises:
        ProfileError: fewer than half of the launches (or of the rows, if there are fewer rows) are matched.
        AdmissionError: the profile shows replays of CUDA graphs that the list lacks.

    >>> profile = read_profile("times.csv")
    >>> admitted_rows(profile, profile.take(np.arange(2)), (), lambda line: None).tolist()
    [0, 1]
    """
    matching = match(profile, launches)
    for sentence in matching.sentences():
        log(f"{profile.source}: {sentence}")
    if matching.matched < MATCHED_SHARE * min(launches.size, profile.size):
        raise ProfileError(
            f"{profile.source}: only {matching.matched:,} of the {launches.size:,} launches of the run are in this "
            f"file; it seems to be of another workload (it has {profile.size:,} launches, the first is "
            f"{profile.names[0]!r}); give the file of this workload"
        )
    if in_graphs(profile).any():
        admit(findings_of(matching), accepted, log, f"{profile.source}: ")
    return matching.rows
