"""Pages and tables that are made from the code; a test holds them against the documents.

python docs/generated.py        writes docs/commands.md, the tables of keys, and the tables of runs in Accel-Sim and MacSim

The runs are those of `docs/evidence/accelsim.json` and `macsim.json`, which `lab/benchmarks/simulators.py` writes.
"""

from __future__ import annotations

import json
import re
from dataclasses import MISSING
from pathlib import Path
from statistics import fmean, harmonic_mean
from typing import Any

from kernelpoint.cli import COMMANDS, command
from kernelpoint.config.reference import EVERYDAY, keys
from kernelpoint.policies.registry import POLICIES
from kernelpoint.typed import Key, keys_of

DOCS = Path(__file__).parent
COMMANDS_PAGE, CONFIGURATION_PAGE = (DOCS / name for name in ("commands.md", "configuration.md"))
README = DOCS.parent / "README.md"
PAGES = {name: DOCS / "evidence" / f"{name}.md" for name in ("accelsim", "macsim")}
RUNS: dict[str, list[dict[str, Any]]] = {
    name: json.loads(page.with_suffix(".json").read_text(encoding="utf-8")) for name, page in PAGES.items()
}
SHOWN = {  # in the README: head of the table, error budget, and the lists of the first configuration
    "accelsim": ("Workload", 0.01, ("simpletorch", "simpletorch3", "simpleopacus")),
    "macsim": ("Workload in MacSim", 0.05, ("cg", "simpletorch", "opL")),
}
HEAD = """\
# Commands

`kernelpoint COMMAND --help` says the same as this page, which is made from it. A command exits with 0 if all is well, else with
one message and another code. The first eight are for every day; `kernelpoint file` and `kernelpoint lab` list the others.
"""


def commands_page() -> str:
    """The page on commands."""
    return "\n".join([HEAD, *(_section(name) for name in COMMANDS)])


def _section(name: str) -> str:
    made = command(name)
    text = re.sub(r"^    ", "", made.help or "", flags=re.MULTILINE).strip()
    text = re.sub(r"Example: (.*)", r"    \1", text)
    text = re.sub(r"\x08\n((?:.+\n)+)", lambda found: re.sub("^", "    ", found[1], flags=re.MULTILINE).rstrip(" "), text)
    rows = [f"| {_name(it)} | {_help(it)} |" for it in made.params if it.name != "help"]
    return "\n".join([f"## kernelpoint {name}", "", text, "", "| Argument or option | Meaning |", "|---|---|", *rows, ""])


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{option}`" for option in parameter.opts)


def _help(parameter: Any) -> str:
    text = (parameter.help or "").replace("|", r"\|")
    default = parameter.default
    if parameter.required or default in (None, False) or callable(default) or "[default" in text:
        return text
    return f"{text} Default: `{default}`."


def keys_table(everyday: bool) -> str:
    """The table of the keys for every day, or of the others."""
    rows = [f"| `{name}` | {_default(key)} | {key.description} |" for name, key in keys() if (name in EVERYDAY) is everyday]
    head = "Key" if everyday else "Expert key"
    return "\n".join([f"| {head} | Default | Meaning |", "|---|---|---|", *rows]) + "\n"


def _default(key: Key) -> str:
    if key.default is MISSING:
        return "required"
    return "none" if key.default is None else f"`{key.default}`"


def parameters_table() -> str:
    """The table of parameters: what each policy of ours lets a user set."""
    rows = []
    for name in POLICIES.own_names():
        for key in keys_of(POLICIES.load(name).Parameters):
            default = "the error budget" if key.default is None else f"`{key.default}`"
            rows.append(f"| `{name}` | `{key.name}` | {default} | {key.description} |")
    return "\n".join(["| Policy | Parameter | Default | Meaning |", "|---|---|---|---|", *rows]) + "\n"


def _errors(row: dict[str, Any], run: dict[str, Any]) -> list[float]:
    """The error of a run's total in per cent, of all cycles and of those beyond launch latency where that is known."""
    pairs = [(run["cycles"], row["full_cycles"])]
    if row["latency"]:
        pairs.append((run["active_cycles"], row["full_cycles"] - row["latency"] * row["launches"]))
    return [100 * (estimate / truth - 1) for estimate, truth in pairs]


def _is_right(row: dict[str, Any], run: dict[str, Any]) -> bool:
    """True if the intervals of these totals contain the full run, whose total is a whole number of cycles."""
    full, beyond = row["full_cycles"], row["full_cycles"] - row["latency"] * row["launches"]
    pairs = [(run["cycles"] - full, run["half_width"])]
    if row["latency"]:
        pairs.append((run["active_cycles"] - beyond, run["active_half_width"]))
    return all(abs(error) <= half_width + 0.5 for error, half_width in pairs)


def readme_table(simulator: str) -> str:
    """The table of runs at one budget in the README, a row for each list."""
    first, budget, lists = SHOWN[simulator]
    heads = [
        first,
        "Launches",
        "Full run, CPU time",
        "Sampled run, CPU time",
        "Simulated",
        "Speedup in cycles",
        "Error",
    ]
    rows, configuration = [], RUNS[simulator][0]["configuration"]
    for row in RUNS[simulator]:
        if row["list"] not in lists or row["configuration"] != configuration:
            continue
        runs = [run for run in row["runs"] if run["budget"] == budget]
        simulated = [run["simulated"] + run["validation"] for run in runs]
        speedups = [round(run["cycle_speedup"], 1) for run in runs]
        seconds = [run["seconds"] for run in runs]
        errors = [max(abs(error) for error in each) for each in zip(*(_errors(row, run) for run in runs), strict=True)]
        rows.append(
            [
                f"`{row['list']}`", f"{row['launches']:,}", f"{row['full_seconds']:,.0f} s",
                f"{fmean(seconds):.1f} s ({max(seconds):.1f} s)", f"{fmean(simulated):.0f} ({max(simulated)})",
                f"{harmonic_mean(speedups):.1f}x ({min(speedups):.1f}x)", f"{errors[0]:.3f} %",
                *(f"{error:.2f} %" for error in errors[1:]),
            ]
        )  # fmt: skip
    return _table([*heads, *["Error beyond latency"][: len(rows[0]) - len(heads)]], rows)


def runs_table(simulator: str) -> str:
    """The table of all sampled runs in a simulator."""
    with_latency = any(row["latency"] for row in RUNS[simulator])
    beyond = ["Beyond latency", "Stated beyond latency"] if with_latency else ["Stated", "Budget met"]
    heads = ["List", "GPU", "Budget", "Seed", "Sampled", "For validation", "Passes", "Error", *beyond, "Bound right"]
    rows = []
    for row in RUNS[simulator]:
        for run in row["runs"]:
            error, *further = _errors(row, run)
            totals = run.get("totals")  # exact, inside the half-width, and all
            right = f"{sum(totals[:2])} of {totals[2]}" if totals and run["half_width"] else "-"
            if with_latency:
                stated = [f"{further[0]:+.2f} %", f"{100 * run['active_half_width'] / run['active_cycles']:.3g} %"]
            else:
                stated = [f"{100 * run['half_width'] / run['cycles']:.3g} %", "yes" if run["met"] else "no"]
            rows.append(
                [
                    f"`{row['list']}`", row["configuration"], f"{100 * run['budget']:g} %", str(run["seed"]),
                    str(run["simulated"]), str(run["validation"]), str(run["passes"]), f"{error:+.3f} %", *stated,
                    "yes" if _is_right(row, run) else "no", *([right] if totals else []),
                    f"{run['cycle_speedup'] or 1:.1f}", f"{run['seconds']:.1f} s ({row['full_seconds']:.0f} s)",
                ]
            )  # fmt: skip
    totals_head = ["Totals right"] if "totals" in RUNS[simulator][0]["runs"][0] else []
    return _table([*heads, *totals_head, "Cycle speedup", "CPU time (full run)"], rows)


def full_runs_table(simulator: str) -> str:
    """The table of the full runs in a simulator, and of the load while a list was measured."""
    rows = [
        [
            f"`{row['list']}`", row["configuration"], f"{row['launches']:,}", f"{row['full_cycles']:,}",
            f"{row['full_seconds']:,.0f} s",
            f"{row['load'][0]:g} to {row['load'][1]:g}", row["date"],
        ]
        for row in RUNS[simulator]
    ]  # fmt: skip
    return _table(["List", "GPU", "Launches", "Full run, cycles", "Full run, CPU time", "Load", "Date"], rows)


def _table(heads: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heads, *rows)).replace("\n", f"\n{'|---' * len(heads)}|\n", 1)


def readme() -> str:
    """The README with the tables of runs."""
    text = README.read_text(encoding="utf-8")
    for simulator in RUNS:
        text = with_table(text, readme_table(simulator))
    return text


def runs_page(simulator: str) -> str:
    """The page of evidence on a simulator with the tables of its runs."""
    text = PAGES[simulator].read_text(encoding="utf-8")
    return with_table(with_table(text, runs_table(simulator)), full_runs_table(simulator))


def with_table(text: str, table: str) -> str:
    """A page with a table in place of the one that has the same head."""
    head = table.splitlines()[0]
    begin = text.index(head)
    return text[:begin] + table + text[text.index("\n\n", begin) + 1 :]


def configuration_page() -> str:
    """The page on the configuration, its tables made from the schema and the policies."""
    text = CONFIGURATION_PAGE.read_text(encoding="utf-8")
    for table in (keys_table(everyday=True), keys_table(everyday=False), parameters_table()):
        text = with_table(text, table)
    return text


if __name__ == "__main__":
    COMMANDS_PAGE.write_text(commands_page(), encoding="utf-8")
    CONFIGURATION_PAGE.write_text(configuration_page(), encoding="utf-8")
    README.write_text(readme(), encoding="utf-8")
    for simulator, page in PAGES.items():
        page.write_text(runs_page(simulator), encoding="utf-8")
