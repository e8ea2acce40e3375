"""Tables of measured coverage, from the rows of measure.py.

    python lab/coverage/table.py rows.jsonl [more.jsonl ...]

A cell fails where coverage is below the confidence by more than chance: one-sided exact binomial tests, Holm's correction at a
family-wise 1 % over all cells of the engine. Failing cells are marked `!`, populations that parameters were tuned on `*`.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from scipy.stats import binom

FAMILY = 0.01
BUDGETS = (0.05, 0.01, 0.005)
ALTERNATIVES = ("random", "stratified", "stem", "allegro")
MARK = {"a": "", "b": " (b)", "c": " (c)"}
Row = dict


def failing(rows: list[Row], share: str = "cover") -> set[int]:
    """Indices of rows that hold too seldom, by Holm's step-down procedure.

    >>> row = {"runs": 500, "confidence": 0.95}
    >>> failing([{**row, "cover": 470}, {**row, "cover": 400}])
    {1}
    """
    p = [float(binom.cdf(row[share], row["runs"], row["confidence"])) for row in rows]
    found: set[int] = set()
    for rank, index in enumerate(sorted(range(len(rows)), key=p.__getitem__)):
        if p[index] > FAMILY / (len(rows) - rank):
            break
        found.add(index)
    return found


def means(values: list[float]) -> str:
    """Harmonic, geometric and arithmetic mean: a single average over workloads hides which one it is.

    >>> means([1.0, 4.0])
    '1.60, 2.00, 2.50'
    """
    return ", ".join(
        f"{mean(values):.2f}" for mean in (statistics.harmonic_mean, statistics.geometric_mean, statistics.fmean)
    )


def cell(row: Row | None, fails: bool) -> str:
    """Coverage, share of wrong statements at any look, speedup of one row."""
    if row is None:
        return "-"
    n = row["runs"]
    return f"{row['cover'] / n:.3f}{'!' if fails else ''} ({row['ever_wrong'] / n:.2f}), {row['speedup']:.1f}x"


def coverage_table(rows: list[Row], level: float, knowledge: str) -> list[str]:
    """One line per population: one-per-stream speedup, one cell per budget, rms error at 1 % in all and beyond latency."""
    every = [row for row in rows if row["method"] == "kernelpoint"]
    bad = {id(every[index]) for index in failing(every)}
    part = [row for row in every if row["confidence"] == level and row["knowledge"] == knowledge]
    lines = [
        "| Population | one-per-stream speedup | "
        + " | ".join(f"{100 * b:g} %" for b in BUDGETS)
        + " | rms error at 1 % (beyond latency) |"
    ]
    lines.append("|---" * (len(BUDGETS) + 3) + "|")
    for name in dict.fromkeys(row["population"] for row in part):
        mine = {row["budget"]: row for row in part if row["population"] == name}
        one = next(iter(mine.values()))
        cells = [cell(mine.get(b), id(mine.get(b)) in bad) for b in BUDGETS]
        error = mine.get(0.01)
        rms = (
            "-"
            if error is None
            else f"{100 * error['rms_error']:.2f} % ({100 * error['rms_error'] * error['beyond_latency']:.2f} %)"
        )
        lines.append(
            f"| {name}{' *' if one['tuning'] else ''} | {one['one_per_stream_speedup']:.1f} | "
            + " | ".join(cells)
            + f" | {rms} |"
        )
    return lines


def best_alternative(rows: list[Row], name: str, budget: float, level: float, knowledge: str) -> tuple[str, float]:
    """The fastest alternative of a kind of knowledge that was made to cover, and its speedup; ("none", 1) if none was."""
    found = [("none", 1.0)]
    for row in rows:
        same = (row["population"], row["budget"], row["confidence"]) == (name, budget, level)
        allowed = row["knowledge"] == knowledge or row["method"] in ("random", "stratified")
        if same and allowed and row["method"] != "kernelpoint" and row["tightened"]:
            found.append((row["method"] + MARK[row["knowledge"]], row["tightened"]["speedup"]))
    return max(found, key=lambda pair: pair[1])


def comparison(rows: list[Row], level: float, knowledge: str) -> list[str]:
    """Speedups beside the best alternative made to cover, judged populations only, and how the targets stand."""
    lines = [
        "| Budget | kernelpoint | best alternative | ratio where one per stream allows | share of one per stream elsewhere |",
        "|---|---|---|---|---|",
    ]
    for budget in BUDGETS:
        ours, theirs, ratio, share = [], [], [], []
        for row in rows:
            if row["method"] != "kernelpoint" or row["tuning"] or row["budget"] != budget:
                continue
            if row["confidence"] != level or row["knowledge"] != knowledge:
                continue
            best = best_alternative(rows, row["population"], budget, level, knowledge)[1]
            ours.append(row["speedup"])
            theirs.append(best)
            if row["one_per_stream_speedup"] >= 4.0 * best:
                ratio.append(row["speedup"] / best)
            else:
                share.append(row["speedup"] / row["one_per_stream_speedup"])
        if ours:
            parts = [f"{statistics.geometric_mean(v):.2f} ({len(v)})" if v else "-" for v in (ratio, share)]
            lines.append(f"| {100 * budget:g} % | {means(ours)} | {means(theirs)} | {parts[0]} | {parts[1]} |")
    return lines


def alternatives_table(rows: list[Row], level: float) -> list[str]:
    """Each alternative at the budget and tightened: coverage (mean over judged populations) and geometric-mean speedup."""
    lines = [
        "| Budget | Method | runs within the budget, least and mean | speedup | tightened: never enough | tightened: speedup |",
        "|---" * 6 + "|",
    ]
    for budget in BUDGETS:
        for method, knowledge in [(m, k) for k in "abc" for m in ("kernelpoint", *ALTERNATIVES)]:
            part = [
                row
                for row in rows
                if (row["method"], row["knowledge"], row["budget"], row["confidence"])
                == (method, knowledge, budget, level)
                and not row["tuning"]
            ]
            if not part:
                continue
            within = [row["within"] / row["runs"] for row in part]
            speed = means([row["speedup"] for row in part])
            tight = [row.get("tightened") for row in part]
            after = "" if method == "kernelpoint" else means([t["speedup"] if t else 1.0 for t in tight])
            never = "" if method == "kernelpoint" else str(sum(t is None for t in tight))
            name = f"{method}{MARK[knowledge]} ({len(part)})"
            least = f"{min(within):.2f}, {statistics.fmean(within):.2f}"
            lines.append(f"| {100 * budget:g} % | {name} | {least} | {speed} | {never} | {after} |")
    return lines


def main() -> None:
    rows = [json.loads(line) for path in sys.argv[1:] for line in Path(path).read_text().splitlines()]
    order = list(dict.fromkeys(row["population"] for row in rows))
    rows.sort(key=lambda row: order.index(row["population"]))
    for level in sorted({row["confidence"] for row in rows}, reverse=True):
        for knowledge in sorted({row["knowledge"] for row in rows}):
            seeds = {row["runs"] for row in rows if row["method"] == "kernelpoint"}
            print(f"\nConfidence {100 * level:g} %, knowledge ({knowledge}), seeds {seeds}\n")
            print("\n".join(coverage_table(rows, level, knowledge)))
            print("\n" + "\n".join(comparison(rows, level, knowledge)))
        print("\n" + "\n".join(alternatives_table(rows, level)))


if __name__ == "__main__":
    main()
