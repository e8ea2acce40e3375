"""Format of numbers in every command, table and page. A missing or infinite number is shown as "-"."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from kernelpoint.estimate import Estimate


def is_finite(value: float | None) -> bool:
    """True if a value is a finite number."""
    return value is not None and math.isfinite(value)


def number(value: float | None) -> str:
    """Format a total or a count; "-" if it is unknown.

    >>> number(80651.0), number(0.00068), number(16.5), number(None)
    ('80,651', '0.00068', '16.5', '-')
    """
    if value is None or not is_finite(value):
        return "-"
    return f"{value:.5g}" if value % 1 and abs(value) < 100 else f"{value:,.0f}"


def signed(value: float | None) -> str:
    """Format a difference of two totals, with its sign.

    >>> signed(-1234.4)
    '-1,234'
    """
    return f"{value:+,.0f}" if is_finite(value) else "-"


def percent(value: float | None, sign: str = "") -> str:
    """Format a share in percent, with as many digits as it needs.

    >>> percent(0.01234), percent(0.00001, "+"), percent(float("nan"))
    ('1.23 %', '+0.0010 %', '-')
    """
    if value is None or not is_finite(value):
        return "-"
    size = abs(100 * value)
    digits = 0 if size >= 99.95 or size == 0 else 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.01 else 4
    return f"{100 * value:{sign}.{digits}f} %"


def error(value: float | None) -> str:
    """Format a relative error in percent, with its sign.

    >>> error(-0.0005)
    '-0.050 %'
    """
    return percent(value, "+")


def half_width(relative: float | None) -> str:
    """Format a relative half-width in percent. Values above 1 are shown as "over 100 %".

    >>> half_width(0.0125), half_width(11483.3), half_width(None)
    ('1.25 %', 'over 100 %', '-')
    """
    return "over 100 %" if is_finite(relative) and (relative or 0.0) > 1.0 else percent(relative)


def share(value: float) -> str:
    """Format a share that a user gave, such as an error budget, in percent and without additional digits.

    >>> share(0.05), share(0.005)
    ('5 %', '0.5 %')
    """
    return f"{100 * value:g} %"


def factor(value: float | None) -> str:
    """Format a speedup.

    >>> factor(54.87), factor(737.4)
    ('54.9x', '737x')
    """
    if value is None or not is_finite(value):
        return "-"
    return f"{value:,.1f}x" if value < 100 else f"{value:,.0f}x"


def ratio(value: float | None) -> str:
    """Format a ratio of two totals, or the half-width of a ratio."""
    return f"{value:.4f}" if is_finite(value) else "-"


def amount(value: Estimate | None, unit: float = 1.0) -> str:
    """Format a total or a rate with its half-width: at least three digits, at most four decimals.

    Args:
        unit: number by which the value is divided, such as 1e6 for millions.

    >>> [amount(Estimate.of(e, h)) for e, h in ((14628.2, 310.0), (0.81234, 0.0123), (7.25, math.nan))]
    ['14,628 ± 310', '0.812 ± 0.012', '7.25 ± ?']
    """
    if value is None or not is_finite(value.estimate):
        return "-"
    size, half = value.estimate / unit, value.half_width / unit
    digits = 0 if abs(size) >= 1000.0 else min(4, max(0, 2 - math.floor(math.log10(abs(size) or 1.0))))
    if half == 0.0:
        return f"{size:,.{digits if size % 1 else 0}f}"
    return f"{size:,.{digits}f} ± " + ("?" if math.isnan(half) else f"{half:,.{digits}f}")


def rate(value: Estimate | None) -> str:
    """Format an estimated share with its half-width, in percent.

    >>> rate(Estimate.of(0.25, 0.05))
    '25.0 ± 5.0 %'
    """
    return "-" if value is None else f"{amount(value, 0.01)} %"


def json_text(record: Any, indent: int | None = None) -> str:
    """JSON text of a record. Numbers that are nan or infinite become null.

    >>> json_text({"half_width": float("nan")})
    '{"half_width": null}'
    """
    return json.dumps(finite(record), indent=indent, allow_nan=False)


def finite(record: Any) -> Any:
    """Record with None in place of numbers that are nan or infinite, which JSON does not have.

    >>> finite({"error": float("nan"), "rows": (1.5, "a")})
    {'error': None, 'rows': [1.5, 'a']}
    """
    if isinstance(record, Mapping):
        return {key: finite(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [finite(value) for value in record]
    return None if isinstance(record, float) and not math.isfinite(record) else record
