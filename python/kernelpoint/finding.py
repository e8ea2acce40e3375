"""Finding: a defect of an input, and its effect on the run. Admission makes findings; plans, journals and reports hold them."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

LARGE = 0.01  # share of launches or of time above which a finding has its effect


class Effect(str, enum.Enum):
    """Effect of a large defect of an input: it is printed only, or the run states no bound, or the input is refused. A small
    defect is printed only.

    >>> [effect.value for effect in Effect]
    ['named', 'withdraws', 'refuses', 'budget_cannot_be_met']
    """

    NAMED = "named"
    WITHDRAWS = "withdraws"  # the word "exact", and the bound
    REFUSES = "refuses"  # the input
    BUDGET_CANNOT_BE_MET = "budget_cannot_be_met"  # refused too


@dataclass(frozen=True)
class Finding:
    """Defect of an input, or a property of it that the user must know.

    Attributes:
        kind: name of the kind of defect, as in the option `--accept`.
        what: description of the defect: "11 of 12 launches have no trace that can be read".
        place: file of the first case, perhaps with the line; empty if there is no file.
        launches: share of all launches that have the defect, 0 to 1.
        time: share of these launches in the total time, or in all instructions if no times are known; None if neither is known.
        remedy: advice to the user, with the known defect of a tool that may be the cause.
        effect: effect on the run if a share is large.
        large: smallest share that counts as large.
        accepted: True if the user accepts the effect.

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
    accepted: bool = False

    @property
    def share(self) -> float:
        """Larger of the shares of launches and of time that the defect concerns."""
        return max(self.launches, self.time or 0.0)

    @property
    def outcome(self) -> Effect:
        """Effect of this defect on the run. A defect that is small, or that the user accepts, is printed only."""
        return self.effect if self.share > self.large else Effect.NAMED

    def sentence(self) -> str:
        """Message about this defect for the user."""
        place = f" (the first: {self.place})" if self.place else ""
        return f"{self.kind}: {self.what}{place}; {self.remedy}"

    def record(self) -> dict[str, Any]:
        """Fields of this defect as values for JSON, journals and plans."""
        return {**self.__dict__, "effect": self.effect.value, "outcome": self.outcome.value}

    @classmethod
    def of(cls, record: dict[str, Any]) -> Finding:
        """Make a finding from its record, the inverse of `record`.

        Raises:
            KeyError, ValueError, TypeError: the record has another form.
        """
        return cls(**{**{key: value for key, value in record.items() if key != "outcome"}, "effect": Effect(record["effect"])})
