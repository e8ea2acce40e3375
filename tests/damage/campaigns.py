"""Campaigns of attacks: runs every row of CAMPAIGNS with more tries than the suite, and prints the table of
docs/evidence/reliability.md.

    python tests/damage/campaigns.py [WORD ..]       rows whose attack or tests hold one of the words; all without one

A try is one damaged file, one call, one kill or one operation that fails. A test states its number of tries with
record_property("tried", n). Otherwise each example of hypothesis, each input of a fuzz target, and each other test is one try.
A failing test is a defect: a hang, a crash, a traceback, or else silent, by the words of its report.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
DEFECTS = {  # the first that matches the report of a failed test
    "hang": r"Timeout|TimeoutExpired|did not end",
    "crash": r"Sanitizer|runtime error|returncode (==|=|is) ?-\d|code=-\d|Segmentation|Aborted",
    "traceback": r"(?m)Traceback \(most recent|PYTHONS_WORDS|^E +(?!AssertionError)[\w.]*(Error|Exception)\b",
}


@dataclass(frozen=True)
class Campaign:
    """One row: an attack, the arguments of pytest, the variables that make it try more, the inputs of one test."""

    attack: str
    tests: str
    variables: str = ""
    inputs: int = 1

    @property
    def command(self) -> str:
        return f"{self.variables} {self.tests}".strip()


CAMPAIGNS = (
    Campaign("bytes of a journal changed", "tests/journal/test_journal.py -k changed"),
    Campaign("lines of a journal deleted, doubled, swapped, foreign", "tests/journal/test_journal.py -k doubled"),
    Campaign(
        "contents that cannot be, with right checksums; caches of other versions and applications, with hostile journals",
        "tests/damage/test_hostile_files.py",
    ),
    Campaign(
        "bytes and contents of any input changed at random: journals, plans, caches, profiles, configurations, "
        "checkpoints, packs, footprints, ranges",
        "tests/damage/test_any_bytes.py",
        "EXAMPLES=300",
    ),
    Campaign("packs of strangers: keys, names, members, sizes, bombs, folders", "tests/packs/test_hostile_packs.py"),
    Campaign("escapes in texts on their way to a terminal", "tests/damage/test_terminal_escapes.py"),
    Campaign("folders without locks", "tests/damage/test_names_and_numbers.py -k locks"),
    Campaign("every command with every kind of file", "tests/damage/test_pairs.py", "STRIDE=1"),
    Campaign(
        "FIFOs, devices, sockets, links in the place of files",
        "tests/damage/test_nothing_hangs.py tests/damage/test_outputs.py",
    ),
    Campaign(
        "names, numbers and values that nobody means",
        "tests/damage/test_names_and_numbers.py tests/damage/test_user_mistakes.py tests/damage/test_library.py",
    ),
    Campaign(
        "closed standard streams, 900 MB of memory",
        "tests/damage/test_outputs.py tests/damage/test_little_memory.py -k 'closed or memory'",
    ),
    Campaign(
        "traces that fail to open once, or change with size and time kept",
        "tests/damage/test_passing_errors.py tests/traces/test_scan_table.py",
    ),
    Campaign(
        "failing opens, writes, syncs, renames; lost power", "tests/damage/test_failing_io.py -k 'not simulators'", "STRIDE=3"
    ),
    Campaign("the same in simulators under Dask", "tests/damage/test_failing_io.py -k simulators", "STRIDE=33"),
    Campaign(
        "calls of a host in any order; workers and coordinators killed",
        "tests/damage/test_any_host.py tests/damage/test_any_coordinator.py",
        "EXAMPLES=100",
    ),
    Campaign(
        "hosts, simulators and coordinators killed",
        "tests/integration/test_embedded_host.py tests/coordinator/test_runs.py tests/integration/test_interrupts.py "
        "-k 'kill or ctrl'",
    ),
    Campaign(
        "launches that cannot be simulated", "tests/estimation/test_nonresponse.py tests/session/test_whole_traces.py"
    ),
    Campaign("strangers on the network", "tests/coordinator/test_network.py tests/coordinator/test_namespaces.py"),
    Campaign(
        "files that are no configuration: deep YAML, numbers without end",
        "tests/session/test_config.py -k no_configuration",
    ),
    Campaign("calls of the ABI, right and wrong, from four threads", "tests/embedding/test_any_calls.py", "CALLS=20000", 20000),
    Campaign(
        "the hooks in miniatures of both simulators, on lists and traces changed at random, under sanitisers",
        "tests/accelsim_patch/test_any_bytes.py tests/macsim_patch/test_any_bytes.py",
        "TRIES=200",
    ),
    Campaign(
        "readers in C++, replay's history, encoder and fast model on any bytes, under sanitisers",
        "tests/fuzz/test_targets.py",
        "FUZZ_RUNS=1500",
        1500,
    ),
)  # fmt: skip


def run(campaign: Campaign) -> str:
    """Run one campaign; its row of the table."""
    variables = dict(word.split("=") for word in campaign.variables.split())
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-show-statistics",
                   f"--junitxml={report}", *shlex.split(campaign.tests)]  # fmt: skip
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"{campaign.command}: pytest ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        cases = list(ElementTree.parse(report).iter("testcase"))  # written by pytest a moment ago
    cases = [case for case in cases if case.find("skipped") is None]
    reports = [
        "".join(part.itertext()) for case in cases for part in (case.find("failure"), case.find("error")) if part is not None
    ]
    defects = dict.fromkeys(("silent", *DEFECTS), 0)
    for text in reports:
        defects[next((kind for kind, words in DEFECTS.items() if re.search(words, text)), "silent")] += 1
    tried = sum(_tries(case, campaign.inputs) for case in cases)
    # An example of hypothesis is a try; its test was counted as one above.
    examples = re.findall(r"^ *- (\d+) passing", done.stdout, re.MULTILINE)
    tried += sum(map(int, examples)) - len(re.findall(r"^tests/\S+::.*:$", done.stdout, re.MULTILINE))
    cells = [campaign.attack, f"{tried:,}", *(str(defects[kind]) for kind in ("silent", "hang", "crash", "traceback"))]
    return "| " + " | ".join([*cells, f"`{campaign.command}`"]) + " |"


def _tries(case: ElementTree.Element, inputs: int) -> int:
    stated = [int(p.get("value", 0)) for p in case.iter("property") if p.get("name") == "tried"]
    return sum(stated) if stated else inputs


def main() -> None:
    """Run the campaigns that the command line names, and print the table."""
    words = sys.argv[1:]
    rows = [row for row in CAMPAIGNS if not words or any(word in row.attack + row.tests for word in words)]
    if not rows:
        sys.exit(
            f"no campaign has one of the words {' '.join(words)}; the attacks: {'; '.join(row.attack for row in CAMPAIGNS)}"
        )
    print(
        "| Attack | Tried | Silent or other | Hang | Crash | Traceback | Command |\n|---|---|---|---|---|---|---|",
        flush=True,
    )
    for row in rows:
        print(run(row), flush=True)


if __name__ == "__main__":
    main()
