"""Pages and tables that are made from the code; a test holds them against the documents.

python docs/generated.py        writes docs/commands.md, the tables of keys, and the tables of runs in Accel-Sim

The runs in Accel-Sim are those of `docs/evidence/accelsim.json`, which `lab/benchmarks/simulators.py` writes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean, harmonic_mean
from typing import Any

from pydantic.fields import FieldInfo

from kernelpoint.cli import COMMANDS, command
from kernelpoint.config.reference import EVERYDAY, keys
from kernelpoint.policies.registry import POLICIES

DOCS = Path(__file__).parent
COMMANDS_PAGE, CONFIGURATION_PAGE = (DOCS / name for name in ("commands.md", "configuration.md"))
README, ACCELSIM_PAGE = DOCS.parent / "README.md", DOCS / "evidence" / "accelsim.md"
ACCELSIM_RUNS: list[dict[str, Any]] = json.loads((DOCS / "evidence" / "accelsim.json").read_text(encoding="utf-8"))
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
    text = re.sub(
        r"\x08\n((?:.+\n)+)", lambda found: re.sub("^", "    ", found[1], flags=re.MULTILINE).rstrip(" "), text
    )
    rows = [f"| {_name(it)} | {_help(it)} |" for it in made.params if it.name != "help"]
    return "\n".join(
        [f"## kernelpoint {name}", "", text, "", "| Argument or option | Meaning |", "|---|---|", *rows, ""]
    )


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
    rows = [
        f"| `{name}` | {_default(field)} | {field.description} |"
        for name, field in keys()
        if (name in EVERYDAY) is everyday
    ]
    head = "Key" if everyday else "Expert key"
    return "\n".join([f"| {head} | Default | Meaning |", "|---|---|---|", *rows]) + "\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return "none" if field.default is None else f"`{field.default}`"


def parameters_table() -> str:
    """The table of parameters: what each policy of ours lets a user set."""
    rows = []
    for name in POLICIES.own_names():
        for key, field in POLICIES.load(name).Parameters.model_fields.items():
            default = "the error budget" if field.default is None else f"`{field.default}`"
            rows.append(f"| `{name}` | `{key}` | {default} | {field.description} |")
    return "\n".join(["| Policy | Parameter | Default | Meaning |", "|---|---|---|---|", *rows]) + "\n"


def _seconds(seconds: float | None) -> str:
    return "not timed" if seconds is None else f"{seconds:.0f} s"


def _errors(row: dict[str, Any], run: dict[str, Any]) -> tuple[float, float]:
    """The error of a run's total in per cent, of all cycles and of those beyond launch latency."""
    full, latency = row["full_cycles"], row["latency"] * row["launches"]
    return 100 * (run["cycles"] / full - 1), 100 * (run["active_cycles"] / (full - latency) - 1)


def _is_right(row: dict[str, Any], run: dict[str, Any]) -> bool:
    """True if both intervals contain the full run, whose total is a whole number of cycles."""
    full, active = row["full_cycles"], row["full_cycles"] - row["latency"] * row["launches"]
    both = (run["cycles"] - full, run["half_width"]), (run["active_cycles"] - active, run["active_half_width"])
    return all(abs(error) <= half_width + 0.5 for error, half_width in both)


def readme_table() -> str:
    """The table of runs at 1 % in the README, a row for each list."""
    head = (
        "| Workload | Launches | Full run, CPU time | Sampled run, CPU time | Simulated | Speedup in cycles | Error | "
        "Error beyond latency |\n|---|---|---|---|---|---|---|---|\n"
    )
    lines = []
    for row in ACCELSIM_RUNS:
        runs = [run for run in row["runs"] if run["budget"] == 0.01]
        simulated = [run["simulated"] + run["validation"] for run in runs]
        speedups = [round(run["cycle_speedup"], 1) for run in runs]
        seconds = [run["seconds"] for run in runs]
        errors = [max(abs(error) for error in each) for each in zip(*(_errors(row, run) for run in runs), strict=True)]
        lines.append(
            f"| `{row['list']}` | {row['launches']:,} | {_seconds(row['full_seconds'])} | {fmean(seconds):.1f} s "
            f"({max(seconds):.1f} s) | {fmean(simulated):.0f} ({max(simulated)}) | {harmonic_mean(speedups):.1f}x "
            f"({min(speedups):.1f}x) | {errors[0]:.3f} % | {errors[1]:.2f} % |\n"
        )
    return head + "".join(lines)


def runs_table() -> str:
    """The table of all sampled runs in Accel-Sim."""
    head = (
        "| List | Budget | Seed | Sampled | For validation | Passes | Error | Beyond latency | Stated beyond latency | "
        "Bound right | Cycle speedup | CPU time |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    )
    lines = []
    for row in ACCELSIM_RUNS:
        for run in row["runs"]:
            error, beyond = _errors(row, run)
            stated = 100 * run["active_half_width"] / run["active_cycles"]
            lines.append(
                f"| `{row['list']}` | {100 * run['budget']:g} % | {run['seed']} | {run['simulated']} | "
                f"{run['validation']} | {run['passes']} | {error:+.3f} % | {beyond:+.2f} % | {stated:.3g} % | "
                f"{'yes' if _is_right(row, run) else 'no'} | {run['cycle_speedup']:.1f} | {run['seconds']:.1f} s |\n"
            )
    return head + "".join(lines)


def full_runs_table() -> str:
    """The table of the full runs in Accel-Sim, and of the load while a list was measured."""
    head = "| List | Launches | Full run, cycles | Full run, CPU time | Load | Date |\n|---|---|---|---|---|---|\n"
    lines = [
        f"| `{row['list']}` | {row['launches']:,} | {row['full_cycles']:,} | {_seconds(row['full_seconds'])} | "
        f"{row['load'][0]:g} to {row['load'][1]:g} | {row['date']} |\n"
        for row in ACCELSIM_RUNS
    ]
    return head + "".join(lines)


def readme() -> str:
    """The README with the table of runs in Accel-Sim."""
    return with_table(README.read_text(encoding="utf-8"), readme_table())


def accelsim_page() -> str:
    """The page of evidence on Accel-Sim with the tables of its runs."""
    text = ACCELSIM_PAGE.read_text(encoding="utf-8")
    return with_table(with_table(text, runs_table()), full_runs_table())


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
    ACCELSIM_PAGE.write_text(accelsim_page(), encoding="utf-8")
