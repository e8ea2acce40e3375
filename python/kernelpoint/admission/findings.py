"""Findings of admission in an input, and their effects."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kernelpoint.errors import AdmissionError, BudgetError, ConfigError, did_you_mean
from kernelpoint.progress import Log

LARGE = 0.01  # share of launches or of time above which a finding has its effect


class Effect(enum.Enum):
    """Effect of a finding with a large share: named, bound withdrawn, or input refused. A small finding is only named.

    >>> [effect.value for effect in Effect]
    ['named', 'withdraws', 'refuses', 'exceeds']
    """

    NAMED = "named"
    WITHDRAWS = "withdraws"  # the word "exact", and the bound
    REFUSES = "refuses"  # the input
    EXCEEDS = "exceeds"  # every error budget: refused too


@dataclass(frozen=True)
class Finding:
    """A defect of an input, or a property of it that the user must know.

    Attributes:
        kind: its name, as `--accept` takes it.
        what: a sentence without a subject: "11 of 12 launches have no trace that can be read".
        place: file, or place in it, of the first case; empty where there is none.
        launches: share of all launches, 0 to 1.
        time: share of their time, or of their instructions where no times are known; None where neither is known.
        remedy: what to do about it, and which known defect of a tool it looks like.
        effect: what it does where it is large.
        large: share from which it does so.

    >>> Finding("no-grid", "9 of 10 launches have no grid", "a.csv", 0.9, None, "none", Effect.NAMED).share
    0.9
    """

    kind: str
    what: str
    place: str
    launches: float
    time: float | None
    remedy: str
    effect: Effect = Effect.NAMED
    large: float = LARGE

    @property
    def share(self) -> float:
        """Larger one of the shares of launches and of time."""
        return max(self.launches, self.time or 0.0)

    @property
    def outcome(self) -> Effect:
        """Effect of this finding; `named` if its kind is in `accepted`."""
        return self.effect if self.share > self.large else Effect.NAMED

    def sentence(self) -> str:
        """Message about this finding for the user."""
        place = f" (the first: {self.place})" if self.place else ""
        return f"{self.kind}: {self.what}{place}; {self.remedy}"

    def record(self) -> dict[str, Any]:
        """Plain values of this finding for JSON, journals and plans."""
        return {**self.__dict__, "effect": self.effect.value, "outcome": self.outcome.value}

    @classmethod
    def of(cls, record: dict[str, Any]) -> Finding:
        """Read a finding back from its record.

        Raises:
            KeyError, ValueError, TypeError: it is none.
        """
        return cls(
            **{**{key: value for key, value in record.items() if key != "outcome"}, "effect": Effect(record["effect"])}
        )


def admit(findings: Sequence[Finding], accepted: Collection[str], log: Log, prefix: str = "kernelpoint: ") -> None:
    """Print each kind of finding on one line; raise an error if a finding refuses the input.

    Args:
        accepted: kinds that the user accepts.
        log: takes the lines.

    Raises:
        AdmissionError: a large finding refuses the input, and its kind is not accepted. BudgetError: it cannot meet any budget.

    >>> admit([Finding("no-grid", "1 of 9 launches has no grid", "", 0.1, None, "none needed")], (), print)
    kernelpoint: no-grid: 1 of 9 launches has no grid; none needed
    """
    refusing = (Effect.REFUSES, Effect.EXCEEDS)
    refused = [finding for finding in findings if finding.outcome in refusing and finding.kind not in accepted]
    if refused:
        error = BudgetError if all(finding.outcome is Effect.EXCEEDS for finding in refused) else AdmissionError
        kinds = " ".join(f"--accept {finding.kind}" for finding in refused)
        keys = ", ".join(finding.kind for finding in refused)
        lines = "\n".join(finding.sentence() for finding in refused)
        raise error(f"the input is not admitted\n{lines}\nto go on all the same: {kinds}, or `accept: [{keys}]`")
    for finding in findings:
        large = (
            ""
            if finding.outcome is Effect.NAMED
            else " (accepted)"
            if finding.kind in accepted
            else " (a run states no bound)"
        )
        log(prefix + finding.sentence() + large)


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
