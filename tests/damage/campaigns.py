"""Every campaign of attacks, one after another, and the table of what came of each.

    python tests/damage/campaigns.py [NAME ..]      about 40 minutes on two cores; NAME: only campaigns whose name contains it

A try is one damaged file, call, kill or failing operation, as its test counts it (tests/reference/tries.py), an example that
hypothesis made, or else one test. A test that fails is one defect; the text of its failure says of which kind.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 1800  # for one campaign
# Attack -> arguments of `python -m pytest`, after the variables that make it try more than the suite does.
CAMPAIGNS = {
    "one bit of a cache, footprints, plan or checkpoint flipped": "FLIPS=600 tests/damage/test_bit_flips.py",
    "bytes of a journal changed": "tests/journal/test_journal.py -k changed",
    "lines of a journal deleted, doubled, swapped, foreign": "tests/journal/test_journal.py -k doubled",
    "contents that cannot be, with right checksums": "tests/damage/test_hostile_files.py",
    "bytes and contents of any input changed at random": "EXAMPLES=300 tests/damage/test_any_bytes.py",
    "every command with every kind of file": "STRIDE=1 tests/damage/test_pairs.py",
    "FIFOs, devices, sockets, links in the place of files": "tests/damage/test_nothing_hangs.py tests/damage/test_outputs.py",
    "names, numbers and values that nobody means": "tests/damage/test_names_and_numbers.py "
    "tests/damage/test_user_mistakes.py tests/damage/test_library.py",
    "escapes in texts on their way to a terminal": "tests/damage/test_terminal_escapes.py",
    "closed standard streams, 900 MB of memory": "tests/damage/test_closed_streams.py tests/damage/test_little_memory.py",
    "traces that fail to open once, or change with size and time kept": "tests/damage/test_passing_errors.py "
    "tests/traces/test_same_size_and_time.py",
    "failing opens, writes, syncs, renames; lost power": "STRIDE=3 tests/damage/test_failing_io.py -k 'not simulators'",
    "the same in simulators under Dask": "STRIDE=33 tests/damage/test_failing_io.py -k simulators",
    "folders without locks": "tests/damage/test_no_locks.py",
    "calls of a host in any order; workers and coordinators killed": "EXAMPLES=100 tests/session/test_any_host.py "
    "tests/damage/test_any_run.py",
    "hosts, simulators and coordinators killed": "tests/integration/test_embedded_host.py tests/coordinator/test_runs.py "
    "tests/integration/test_interrupts.py -k 'kill or ctrl'",
    "launches that cannot be simulated": "tests/estimation/test_nonresponse.py tests/session/test_whole_traces.py",
    "strangers on the network": "tests/coordinator/test_network.py tests/coordinator/test_namespaces.py",
    "readers in C++ on any bytes, under sanitisers": "tests/fuzz/test_targets.py",
}
KINDS = {
    "hang": r"it hangs|Timeout|timed out",
    "crash": r"crashed while running|Segmentation fault|SIGSEGV|SIGABRT|returncode -",
    "traceback": r"Traceback \(most recent|PYTHONS_WORDS",
}
OTHER = "silent or other"


def run(arguments: str) -> tuple[int, int, Counter[str]]:
    """Tries, skipped tests, and defects by kind, of one campaign."""
    words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", arguments)]
    extra = dict(word.split("=", 1) for word in words if "=" in word)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-q", "-n", "2", "--dist", "loadfile", "--hypothesis-show-statistics", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *options, *(word for word in words if "=" not in word)]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **extra}, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        root = ET.parse(report).getroot()
    examples = [int(number) for number in re.findall(r"- (\d+) passing", done.stdout)]
    of_hypothesis = len(re.findall(r"(?m)^\S+::.*:$", done.stdout))
    counted = [int(one.attrib["value"]) for one in root.iter("property") if one.get("name") == "tried"]
    skipped = sum(1 for _ in root.iter("skipped"))
    single = sum(1 for _ in root.iter("testcase")) - skipped - len(counted) - of_hypothesis
    failures = [problem.text or "" for tag in ("failure", "error") for problem in root.iter(tag)]
    return sum(counted) + sum(examples) + single, skipped, Counter(map(kind_of, failures))


def kind_of(failure: str) -> str:
    """The kind of a defect, from the text of its failure.

    >>> kind_of("TimeoutError: it hangs")
    'hang'
    """
    return next((kind for kind, words in KINDS.items() if re.search(words, failure)), OTHER)


def main(names: list[str]) -> int:
    """Print the table; defects found."""
    kinds = [OTHER, *KINDS]
    print(f"| What is attacked | Tried | {' | '.join(kinds)} | Tests skipped | Command: `python -m pytest` |")
    print(f"|{'---|' * (len(kinds) + 4)}")
    defects = 0
    for name, arguments in CAMPAIGNS.items():
        if names and not any(word in name for word in names):
            continue
        tried, skipped, found = run(arguments)
        defects += sum(found.values())
        print(
            f"| {name} | {tried:,} | {' | '.join(str(found[kind]) for kind in kinds)} | {skipped} | `{arguments}` |",
            flush=True,
        )
    return defects


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
