"""The results of a comparison as files: CSV for spreadsheets, JSON for programs, a page for people, Markdown for documents."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernelpoint.evaluation.evaluate import Row
from kernelpoint.evaluation.page import html_page
from kernelpoint.evaluation.summary import Line, overall, per_workload
from kernelpoint.evaluation.text import HEADINGS, LEGEND, cells, refusals
from kernelpoint.evaluation.workload import Workload
from kernelpoint.files import open_output, write_output
from kernelpoint.spreadsheet import safe_cell


def write_files(folder: Path, workloads: Sequence[Workload], rows: Sequence[Row]) -> list[Path]:
    """Write comparison.csv (a line per workload, policy, budget and seed), comparison.json (the same and the summaries),
    comparison.html and comparison.md into `folder`."""
    lines = per_workload(rows)
    total = overall(lines)
    paths = [folder / f"comparison.{kind}" for kind in ("csv", "json", "html", "md")]
    with open_output(paths[0]) as file:
        writer = csv.DictWriter(file, fieldnames=list(Row.__dataclass_fields__))
        writer.writeheader()
        writer.writerows({key: safe_cell(value) for key, value in row.record().items()} for row in rows)
    content = {
        "workloads": [
            {"name": w.name, "launches": w.size, "counter": w.counter, "total": w.total, "notes": list(w.notes)}
            for w in workloads
        ],
        "rows": [row.record() for row in rows],
        "per_workload": [_record(line) for line in lines],
        "overall": [_record(line) for line in total],
    }
    write_output(paths[1], json.dumps(content, indent=1) + "\n")
    write_output(paths[2], html_page(workloads, lines, total))
    write_output(paths[3], markdown(workloads, lines, total))
    return paths


def markdown(workloads: Sequence[Workload], lines: Sequence[Line], total: Sequence[Line]) -> str:
    """A table over all workloads, one for each workload, and the legend."""
    parts = [_table(f"All {len(workloads)} workloads", total)] if len(workloads) > 1 else []
    for one in workloads:
        title = f"{one.name}: {one.size:,} launches, {one.total:,.0f} {one.counter}"
        parts.append(_table(title, [line for line in lines if line.workload == one.name]))
    return "\n".join([*parts, *(f"- {item}" for item in LEGEND)]) + "\n"


def _table(title: str, lines: Sequence[Line]) -> str:
    rows = [cells(line) for line in lines if line.runs]
    refused = [f"- {reason}" for reason in refusals(lines)]
    table = [HEADINGS, ["---"] * len(HEADINGS), *rows]
    text = "\n".join("| " + " | ".join(row) + " |" for row in table)
    return f"**{title}**\n\n{text}\n" + "".join(f"\n{reason}" for reason in refused) + ("\n" if refused else "")


def _record(line: Line) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in asdict(line).items()}
