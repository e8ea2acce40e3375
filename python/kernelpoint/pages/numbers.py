"""Numbers as text, for every command, table and page. One that is missing or infinite is "-"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


def is_finite(value: float | None) -> bool:
    """True of a finite number."""
    return value is not None and math.isfinite(value)


def number(value: float | None) -> str:
    """A total or a count.

    >>> number(80651.0), number(0.00068), number(16.5), number(None)
    ('80,651', '0.00068', '16.5', '-')
    """
    if value is None or not is_finite(value):
        return "-"
    return f"{value:.5g}" if value % 1 and abs(value) < 100 else f"{value:,.0f}"


def signed(value: float | None) -> str:
    """A difference of totals.

    >>> signed(-1234.4)
    '-1,234'
    """
    return f"{value:+,.0f}" if is_finite(value) else "-"


def percent(value: float | None, sign: str = "") -> str:
    """A share in percent with as many digits as it needs.

    >>> percent(0.01234), percent(0.00001, "+"), percent(float("nan"))
    ('1.23 %', '+0.0010 %', '-')
    """
    if value is None or not is_finite(value):
        return "-"
    size = abs(100 * value)
    digits = 0 if size >= 99.95 or size == 0 else 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.01 else 4
    return f"{100 * value:{sign}.{digits}f} %"


def error(value: float | None) -> str:
    """A signed relative error.

    >>> error(-0.0005)
    '-0.050 %'
    """
    return percent(value, "+")


def half_width(relative: float | None) -> str:
    """A relative half-width; one above the estimate itself is not given in digits.

    >>> half_width(0.0125), half_width(11483.3), half_width(None)
    ('1.25 %', 'over 100 %', '-')
    """
    return "over 100 %" if is_finite(relative) and (relative or 0.0) > 1.0 else percent(relative)


def share(value: float) -> str:
    """A share that was asked for, such as a budget: no more digits than it has.

    >>> share(0.05), share(0.005)
    ('5 %', '0.5 %')
    """
    return f"{100 * value:g} %"


def factor(value: float | None) -> str:
    """A speedup.

    >>> factor(54.87), factor(737.4)
    ('54.9x', '737x')
    """
    if value is None or not is_finite(value):
        return "-"
    return f"{value:,.1f}x" if value < 100 else f"{value:,.0f}x"


def ratio(value: float | None) -> str:
    """A ratio of two totals, or its half-width."""
    return f"{value:.4f}" if is_finite(value) else "-"


@dataclass(frozen=True)
class Amount:
    """A total or a rate, with its half-width: 0 of an exact one, None where none is stated.

    >>> Amount(8.0, 0.4) / Amount(4.0, 0.0)
    Amount(value=2.0, half_width=0.1)
    >>> str(Amount(14628.2, 310.0)), str(Amount(0.81234, 0.0123)), str(Amount(7.25, None))
    ('14,628 ± 310', '0.812 ± 0.012', '7.25 ± ?')
    """

    value: float
    half_width: float | None

    def __add__(self, other: Amount) -> Amount:
        """The sum; its half-width is the sum of both, as if both errors had one sign."""
        return Amount(self.value + other.value, _added(self.half_width, other.half_width))

    def __truediv__(self, other: Amount) -> Amount:
        """The quotient; its relative half-width is the sum of both, as if both errors had opposite signs."""
        value = self.value / other.value
        own = None if self.half_width is None else self.half_width / abs(other.value)
        given = None if other.half_width is None else abs(value) * other.half_width / abs(other.value)
        return Amount(value, _added(own, given))

    def __str__(self) -> str:
        """Three digits or more, at most four after the point, and the half-width."""
        digits = 0 if abs(self.value) >= 1000.0 else min(4, max(0, 2 - math.floor(math.log10(abs(self.value) or 1.0))))
        if self.half_width == 0.0:
            return f"{self.value:,.{digits if self.value % 1 else 0}f}"
        return f"{self.value:,.{digits}f} ± " + ("?" if self.half_width is None else f"{self.half_width:,.{digits}f}")


def amount(value: Amount | None) -> str:
    """A total or a rate with its half-width."""
    return "-" if value is None else str(value)


def rate(value: Amount | None) -> str:
    """A share with its half-width, in percent.

    >>> rate(Amount(0.25, 0.05))
    '25.0 ± 5.0 %'
    """
    hundred = Amount(0.01, 0.0)
    return "-" if value is None else f"{value / hundred} %"


def _added(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def finite(record: Any) -> Any:
    """A record for JSON, which has no nan: None stands for one.

    >>> finite({"error": float("nan"), "rows": (1.5, "a")})
    {'error': None, 'rows': [1.5, 'a']}
    """
    if isinstance(record, Mapping):
        return {key: finite(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [finite(value) for value in record]
    return None if isinstance(record, float) and not math.isfinite(record) else record
