"""Names and texts of others' files on their way to a terminal: nothing moves its cursor, colours it or sets its title."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from sealed_lines import journal_of

from kernelpoint.cli.host import program
from kernelpoint.terminal import plain

EVIL = "\x1b]0;owned\x07\x1b[31m\x1b[2J\r\x08\x7f\x9b5A\u202eevil"
ROOT = Path(__file__).parents[2]


def obeyed(text: str) -> list[str]:
    """The control characters in an output that a terminal would obey."""
    return re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", text)


def with_text(value, place):
    """Pairs of (where, the JSON with the hostile text at one of its texts or keys)."""
    if isinstance(value, str):
        yield place, EVIL + value
    elif isinstance(value, dict):
        for key, inner in value.items():
            for where, changed in with_text(inner, f"{place}.{key}"):
                yield where, {**value, key: changed}
        if value and place.endswith(("counters", "estimates", "ratios")):
            (key, inner), *rest = value.items()
            yield f"{place} key", {EVIL + key: inner, **dict(rest)}
    elif isinstance(value, list) and value:
        for where, changed in with_text(value[0], f"{place}[0]"):
            yield where, [changed, *value[1:]]


def test_no_text_of_a_journal_reaches_the_terminal_as_it_is(kernelpoint, journal_records, tmp_path):
    path, tried, shown = tmp_path / "run.kpjournal", set(), set()
    for at, record in enumerate(journal_records):
        for where, changed in with_text(record, record["type"]):
            if where in tried or where.endswith(".type"):
                continue
            tried.add(where)
            records = [*journal_records[:at], changed, *journal_records[at + 1 :]]
            path.write_bytes(journal_of(json.dumps(fields, separators=(",", ":")).encode() for fields in records))
            for command in (["file", "status", path], ["report", path, "-v", "-o", tmp_path / "page.html"]):
                _, text = kernelpoint(*command)
                assert obeyed(text) == [], (where, text)
                shown |= {where} if "evil" in text else set()
    assert len(tried) > 23 and len(shown) >= 5, (len(tried), shown)


def test_no_line_of_a_list_and_no_name_of_a_kernel_reaches_the_terminal_as_it_is(kernelpoint, traces, tmp_path):
    shutil.copytree(traces.parent, tmp_path / "small")
    listed = tmp_path / "small" / "kernelslist.g"
    trace = tmp_path / "small" / "kernel-1.traceg"
    trace.write_text(trace.read_text().replace("-kernel name = k1", f"-kernel name = {EVIL}"), encoding="utf-8")
    missing = f"kernel-{EVIL}.traceg\n"  # quoted in the message
    for content in (listed.read_text(), f"{EVIL}\n", f"kernel-1.traceg\nMemcpyHtoD,{EVIL},x\n", missing):
        listed.write_text(content, encoding="utf-8")
        for command in (
            ["file", "inspect", listed],
            ["file", "inspect", trace],
            ["plan", "--clusters", listed],
            ["plan", listed, "-o", tmp_path / "plan.kpplan"],
        ):
            _, text = kernelpoint(*command)
            assert obeyed(text) == [], (command, text)


@pytest.mark.parametrize("what", ["option", "list", "configuration"])
def test_the_embedded_host_shows_control_characters(traces, tmp_path, what):
    config, listed = "v100", traces
    if what == "list":
        (listed := tmp_path / "kernelslist.g").write_text(f"kernel-{EVIL}.traceg\n", encoding="utf-8")
    if what == "configuration":
        (tmp_path / "k.yaml").write_text(f'version: 1\n"{EVIL.encode("unicode_escape").decode()}": 1\n')
    options = {"option": [EVIL], "list": [], "configuration": ["-kernel_sampling", tmp_path / "k.yaml"]}[what]
    command = [program(), "-trace", listed, "-config", config, *options]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 1
    assert obeyed((done.stdout + done.stderr).decode()) == []


def test_the_filters_in_python_and_in_c_plus_plus_show_the_same(tmp_path):
    text = "".join(map(chr, [*range(1, 0x100), 0x2027, *range(0x2028, 0x2070), 0x1F600]))
    done = subprocess.run([program(), text], capture_output=True, timeout=60, check=False)
    assert plain(text) in done.stderr.decode()


def test_every_command_prints_through_the_filter():
    users = [
        path
        for folder in ("python", "lab/kernelpoint_lab")
        for path in (ROOT / folder).rglob("*.py")
        if "rich.console" in path.read_text() and path.name != "console.py"
    ]
    assert users == []
