"""Files of a run for a paper, beside its figures: a table of kernels, a sentence that states the estimate, and BibTeX."""

from __future__ import annotations

from pathlib import Path

from kernelpoint.errors import ConfigError
from kernelpoint.files import write_output
from kernelpoint.journal import Run
from kernelpoint.pages.numbers import factor, half_width, is_finite, number, percent, share
from kernelpoint.report.view import OTHERS, Kernel, RunView
from kernelpoint.session.verdict import EXACT, NOTHING, SAMPLING_ERROR

ROWS = 10  # kernels with a row of their own
BIBTEX = """\
@software{{kernelpoint,
  title = {{KernelPoint: sampled {{GPU}} simulation with measured error bounds}},
  author = {{{{The KernelPoint developers}}}},
  version = {{{version}}},
  year = {{2026}},
}}
"""
TEX = {sign: f"\\{sign}" for sign in "_%&#${}"}
TEX |= {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}


def write_paper(run: Run, view: RunView, folder: Path) -> list[Path]:
    """Write `kernels.tex` (if the kernels have names), `sentence.txt` and `kernelpoint.bib`; returns the files.

    Raises:
        ConfigError: a file cannot be written. JournalError: the run has not ended.
    """
    texts = {
        "kernels.tex": kernels_table(view),
        "sentence.txt": f"{sentence_of(run)}\n",
        "kernelpoint.bib": BIBTEX.format(version=run.header.kernelpoint),
    }
    files = [folder / name for name, text in texts.items() if text]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in files:
            write_output(path, texts[path.name])
    except OSError as error:
        raise ConfigError(f"--figures: cannot write into {folder}: {error.strerror}") from None
    return files


def sentence_of(run: Run) -> str:
    """Sentence for a paper: number of simulated launches, total, bound, and the errors that the bound covers.

    >>> import kernelpoint as kp
    >>> sentence_of(kp.simulate("traces/kernelslist.g", "run.kpjournal", policy="all"))
    'All 6 launches were simulated; the total is 15,170 cycles.'
    """
    s = run.ended()
    total = f"{number(s.estimate)} {s.counter}"
    if s.bound_scope == EXACT:
        return f"All {s.launches:,} launches were simulated; the total is {total}."
    sampled = (
        f"{s.simulated:,} of {s.launches:,} kernel launches were simulated with KernelPoint {run.header.kernelpoint} "
        f"(policy {run.policy}, seed {run.setting('seed')}), {factor(s.cycle_speedup)} fewer cycles than a full run"
    )
    if s.bound_scope == NOTHING or s.relative_half_width is None:
        return f"{sampled}; the estimated total is {total}, without a bound."
    errors = "of sampling" if s.bound_scope == SAMPLING_ERROR else "of sampling and replay"
    return (
        f"{sampled}; the estimated total is {total} ± {half_width(s.relative_half_width)} at {share(s.confidence)} "
        f"confidence. The bound covers the error {errors} against a full simulation, not the simulator's own."
    )


def kernels_table(view: RunView) -> str:
    """LaTeX table (package booktabs) of the kernels with most cycles, all others in one row; empty without names."""
    if not view.kernels:
        return ""
    lines = [
        "\\begin{tabular}{lrrrrr}",
        "\\toprule",
        "Kernel & Launches & Simulated & Cycles & Half-width & Share \\\\",
        "\\midrule",
    ]
    rows = [(k.name, k.launches, k.simulated, k.cycles, _half_width(k), k.share) for k in view.kernels[:ROWS]]
    if rest := view.kernels[ROWS:]:
        launches, simulated = (sum(getattr(k, name) for k in rest) for name in ("launches", "simulated"))
        cycles, of_total = sum(k.cycles for k in rest), sum(k.share for k in rest)
        rows.append((f"{OTHERS} ({len(rest)})", launches, simulated, cycles, "", of_total))
    for name, launches, simulated, cycles, width, of_total in rows:
        cells = (name, f"{launches:,}", f"{simulated:,}", number(cycles), width, percent(of_total))
        lines.append(" & ".join(map(latex, cells)) + " \\\\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])


def _half_width(kernel: Kernel) -> str:
    """The half-width of the cycles of a kernel; a dash where none is stated."""
    width = kernel.totals["cycles"].half_width if "cycles" in kernel.totals else None
    return number(width) if is_finite(width) else "-"


def latex(text: str) -> str:
    """Escape a text so that LaTeX prints its special characters.

    >>> latex("gemm_f16<50 %>")
    'gemm\\\\_f16<50 \\\\%>'
    """
    return "".join(TEX.get(sign, sign) for sign in text)
