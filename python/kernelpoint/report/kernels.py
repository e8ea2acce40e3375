"""The table of kernels on the page of a run: cycles, IPC, miss rates and stalls, each with its half-width; rows that open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from kernelpoint.report.html import table
from kernelpoint.report.view import SHARES, Amount, Kernel, RunView, Variant

RATES = {"ipc": "IPC", "l1_miss_rate": "L1 miss rate", "l2_miss_rate": "L2 miss rate"}
COLUMNS = (
    "±: half-width of the kernel's estimate, which can be too small where few of its launches were simulated; ?: none is "
    "stated. Mean: cycles of a launch. Stalls: cycles of waiting warps per warp instruction. CoV: standard deviation over "
    "mean of the simulated launches. Share of variance: the kernel's part in the uncertainty of the total. A heading sorts "
    "the table. A triangle opens the kernel's variants and the full run."
)


def kernel_table(view: RunView) -> str:
    """HTML of the table, with a field that filters it; empty of a run whose kernels have no names."""
    if not view.kernels:
        return ""
    rates = list(dict.fromkeys(name for kernel in view.kernels for name in kernel.rates))
    groups = []
    for kernel in view.kernels:
        numbers = [
            (f"{100 * kernel.share:.2f} %", kernel.share),
            *_amounts(kernel, rates),
            (signed(kernel.cov), kernel.cov or 0.0),
            (signed(kernel.variance), kernel.variance or 0.0),
        ]
        if view.truth is not None:
            numbers.append((signed(kernel.error, "+"), kernel.error or 0.0))
        cells = "".join(f'<td data-value="{value:.10g}">{text}</td>' for text, value in numbers)
        name, inner = escape(kernel.name), _inner_rows(kernel, rates, len(numbers))
        opened = '<button type="button" class="open" aria-expanded="false" aria-label="details">▸</button> '
        first = f'<tr data-kernel="{name}" tabindex="0"><td>{opened if inner else ""}{name}</td>{cells}</tr>'
        groups.append(first + inner)
    named = [RATES.get(name, name.replace("_", " ")) for name in rates]
    head = ["kernel", "share of cycles", "launches", "simulated", "cycles", "mean", *named, "CoV", "share of variance"]
    head += ["error"] if view.truth is not None else []
    find = '<p><input id="filter" type="search" placeholder="filter kernels by name" aria-label="filter kernels by name"></p>'
    return find + table(head, groups, "kernels") + f'<p class="soft">{escape(COLUMNS)}</p>'


def _amounts(of: Variant, rates: Sequence[str]) -> list[tuple[str, float]]:
    """Launches, simulated ones, cycles, mean and rates of a kernel: text and number of each cell."""
    cycles, own = of.totals.get("cycles", Amount(of.cycles, None)), of.rates
    mean = cycles / Amount(float(max(of.launches, 1)), 0.0)
    counts = [(f"{count:,}", float(count)) for count in (of.launches, of.simulated)]
    totals = [(_amount(one), one.value) for one in (cycles, mean)]
    return counts + totals + [_rate(name, own.get(name)) for name in rates]


def _rate(name: str, rate: Amount | None) -> tuple[str, float]:
    if rate is None:
        return "-", 0.0
    if name not in SHARES:
        return _amount(rate), rate.value
    width = None if rate.half_width is None else 100 * rate.half_width
    return f"{_amount(Amount(100 * rate.value, width))} %", rate.value


def _amount(one: Amount) -> str:
    """A value of three digits or more, and its half-width.

    >>> _amount(Amount(14628.2, 310.0)), _amount(Amount(0.81234, 0.0123)), _amount(Amount(7.25, None))
    ('14,628 ± 310', '0.812 ± 0.012', '7.25 ± ?')
    """
    digits = 0 if abs(one.value) >= 1000.0 else max(0, 2 - math.floor(math.log10(abs(one.value) or 1.0)))
    if one.half_width == 0.0:
        return f"{one.value:,.{digits if one.value % 1 else 0}f}"
    return f"{one.value:,.{digits}f} ± " + ("?" if one.half_width is None else f"{one.half_width:,.{digits}f}")


def _inner_rows(kernel: Kernel, rates: Sequence[str], columns: int) -> str:
    """Hidden rows below a kernel: its instances by template arguments, and the kernel in the full run."""
    rows = [(variant.name, [text for text, _ in _amounts(variant, rates)]) for variant in kernel.variants]
    if len(rows) == 1 and rows[0][0] == kernel.name:
        rows = []
    if kernel.truth is not None:
        true = Variant("full run", kernel.launches, kernel.launches, kernel.truth["cycles"].value, kernel.truth)
        rows.append((true.name, [text for text, _ in _amounts(true, rates)]))
    return "".join(
        f'<tr class="variant" hidden><td>{escape(name)}</td><td></td>{"".join(f"<td>{t}</td>" for t in texts)}'
        f"{'<td></td>' * (columns - 1 - len(texts))}</tr>"
        for name, texts in rows
    )


def signed(value: float | None, sign: str = "") -> str:
    """A fraction in per cent.

    >>> signed(0.0123), signed(0.0123, "+"), signed(None)
    ('1.23 %', '+1.23 %', '-')
    """
    return "-" if value is None else f"{100 * value:{sign}.2f} %"
