"""Findings of admission in an input, and their effects."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from kernelpoint.errors import AdmissionError, BudgetError, ConfigError, did_you_mean
from kernelpoint.finding import Effect, Finding
from kernelpoint.progress import Log


def admit(
    findings: Sequence[Finding], accepted: Collection[str], log: Log, prefix: str = "kernelpoint: "
) -> tuple[Finding, ...]:
    """Print each kind of finding on one line; raise an error if a finding refuses the input.

    Args:
        accepted: kinds that the user accepts.
        log: takes the lines.

    Returns:
        The findings, with those marked whose effect is accepted.

    Raises:
        AdmissionError: a large finding refuses the input, and its kind is not accepted. BudgetError: it cannot meet any budget.

    >>> (finding,) = admit([Finding("no-grid", "1 of 9 launches has no grid", "", 0.1, None, "none needed")], (), print)
    kernelpoint: no-grid: 1 of 9 launches has no grid; none needed
    >>> finding.accepted
    False
    """
    refusing = (Effect.REFUSES, Effect.BUDGET_CANNOT_BE_MET)
    refused = [finding for finding in findings if finding.outcome in refusing and finding.kind not in accepted]
    if refused:
        error = (
            BudgetError
            if all(finding.outcome is Effect.BUDGET_CANNOT_BE_MET for finding in refused)
            else AdmissionError
        )
        kinds = " ".join(f"--accept {finding.kind}" for finding in refused)
        keys = ", ".join(finding.kind for finding in refused)
        lines = "\n".join(finding.sentence() for finding in refused)
        raise error(f"the input is not admitted\n{lines}\nto go on all the same: {kinds}, or `accept: [{keys}]`")
    admitted = []
    for finding in findings:
        accepts = finding.kind in accepted and finding.outcome is not Effect.NAMED
        states_none = finding.outcome is not Effect.NAMED and not accepts
        log(f"{prefix}{finding.sentence()}{' (accepted)' * accepts}{' (a run states no bound)' * states_none}")
        admitted.append(replace(finding, accepted=accepts))
    return tuple(admitted)


def withdrawing(findings: Iterable[Finding], accepted: Collection[str]) -> list[Finding]:
    """Findings because of which the run states no bound and is never called "exact".

    >>> withdrawing([Finding("zero-addresses", "", "", 1.0, None, "", Effect.WITHDRAWS)], ["zero-addresses"])
    []
    """
    return [finding for finding in findings if finding.outcome is not Effect.NAMED and finding.kind not in accepted]


def check_kinds(kinds: Iterable[str], allowed: Collection[str], option: str) -> None:
    """Raise an error for kinds that no check has.

    Raises:
        ConfigError: names the kind and those that are allowed.

    >>> check_kinds(["no-grid"], ["no-grid"], "--accept")
    """
    for kind in kinds:
        if kind not in allowed:
            raise ConfigError(
                f"{option}: got {kind!r}{did_you_mean(kind, allowed)}; allowed: {', '.join(sorted(allowed))}"
            )
