"""`kernelpoint check`: what is wrong with a list, a trace, a profile or a simulator's output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kernelpoint.admission import Effect, Finding, ListFiles, check_kinds, findings_of, withdrawing
from kernelpoint.cli.console import say
from kernelpoint.errors import KernelPointError, TraceError
from kernelpoint.fast_model.configuration import architecture_of, stated_by
from kernelpoint.pages.numbers import json_text
from kernelpoint.profiles import read_profile
from kernelpoint.profiles.format import beginning_of
from kernelpoint.program import Program
from kernelpoint.repeated import Texts
from kernelpoint.traces import is_list_name, read_trace_list, scan_launches

NAMED, REFUSED = 1, 2  # exit codes
WORDS = {
    Effect.NAMED.value: "named",
    Effect.WITHDRAWS.value: "no bound",
    Effect.REFUSES.value: "refused",
    Effect.BUDGET_CANNOT_BE_MET.value: "refused",
}


def check(
    inputs: Annotated[
        list[Path],
        typer.Argument(help="Lists or folders of traces, traces, profiles, outputs of simulators, in any number."),
    ],
    gpu: Annotated[
        list[str] | None,
        typer.Option(help="The simulated GPU, as `kernelpoint plan` takes it: code that it does not run is then named."),
    ] = None,
    accept: Annotated[
        list[str] | None, typer.Option(help="A kind of finding that does not refuse the input; once for each.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array with an object for each input.")] = False,
) -> None:
    """Say what is wrong with traces, profiles or outputs, which known defect of a tool it looks like, and what to do.

    Exit codes: 0 sound; 1 something is named, and a run goes on; 2 an input cannot be read, or a run refuses it or states no
    bound.

    Example: kernelpoint check traces/kernelslist.g --gpu gpgpusim.config
    """
    check_kinds(accept or (), "--accept")
    architecture = 0
    if gpu:
        stated = stated_by(gpu)
        architecture = architecture_of(stated["simulator"], stated["configuration"], stated["config_hash"])
    records, worst = [], 0
    for path in inputs:
        record, code = _checked(path, architecture, accept or [])
        records.append(record)
        worst = max(worst, code)
        if not as_json:
            _show(record)
    if as_json:
        say(json_text(records, indent=2))
    raise typer.Exit(worst)


def _checked(path: Path, architecture: int, accept: list[str]) -> tuple[dict[str, Any], int]:
    """Check one input; returns its findings as plain values, and the exit code."""
    try:
        kind, launches, findings = _content(path, architecture)
    except KernelPointError as error:
        return {"input": str(path), "kind": "unreadable", "error": str(error), "findings": []}, REFUSED
    code = REFUSED if withdrawing(findings, accept) else NAMED if findings else 0
    records = [{**finding.record(), "accepted": finding.kind in accept, "sentence": finding.sentence()} for finding in findings]
    return {"input": str(path), "kind": kind, "launches": launches, "findings": records}, code


def _content(path: Path, architecture: int) -> tuple[str, int, list[Finding]]:
    """Recognise an input; returns its kind, its number of launches, and its findings."""
    is_list, is_trace = path.is_dir() or is_list_name(path), ".trace" in path.name or path.name == "trace.txt"
    if not (is_list or is_trace):
        try:
            beginning = beginning_of(path)
        except (OSError, EOFError) as error:
            raise TraceError(
                f"{path}: cannot be opened: {getattr(error, 'strerror', None) or error}; name a file that exists and that "
                "this user may read"
            ) from None
        is_list, is_trace = beginning.is_trace_list, beginning.text.startswith("-kernel name")
    if is_list:
        return _of_list(read_trace_list(path), architecture)
    if is_trace:
        return _of_list(Program((1,), traces=Texts.of([str(path)])), architecture)
    profile = read_profile(path)
    return "profile", profile.size, findings_of(profile)


def _of_list(listed: Program, architecture: int) -> tuple[str, int, list[Finding]]:
    program = listed.with_contents_of(scan_launches(listed.traces))
    if not listed.lists and program.errors:
        raise TraceError(program.errors[0])
    return ("list" if listed.lists else "trace"), program.size, findings_of(ListFiles(program, architecture))


def _show(record: dict[str, Any]) -> None:
    """Print the kind and the number of launches of one input file, then one line for each problem that was found in it."""
    name, findings = record["input"], record["findings"]
    if "error" in record:
        say(f"{name}: cannot be read: {record['error'].removeprefix(f'{name}: ')}")
        return
    say(f"{name}: {record['kind']}, {record['launches']:,} launches{'' if findings else ': sound'}")
    for finding in findings:
        say(f"  {'accepted' if finding['accepted'] else WORDS[finding['outcome']]}: {finding['sentence']}")
