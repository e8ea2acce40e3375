"""JSON of commands and journals has null for an unknown number, never NaN."""

import json
import math

import pytest
from command_line import run_command
from trace_writer import cta, small_trace

import kernelpoint as kp

EXIT = "0010 ffffffff 0 EXIT 0 0"
LOST = "0000 ffffffff 1 R1 LDG.E 1 R4 4 1 0x0 0"  # an address that a tracer lost
LAUNCHES = 20


def strict(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A list whose addresses were lost, which withdraws every bound; its sampled and its full run."""
    folder = tmp_path_factory.mktemp("lost")
    for n in range(1, LAUNCHES + 1):
        warp = [*[LOST] * (n % 7 + 1), EXIT]
        (folder / f"kernel-{n}.traceg").write_text(small_trace(cta(warp), "(1,1,1)", **{"kernel id": str(n)}))
    sampled, full = folder / "sampled.kpjournal", folder / "full.kpjournal"
    run = kp.simulate(folder, sampled, policy="random", error_budget={"relative_error": 0.05})
    kp.simulate(folder, full, policy="all")
    assert all(math.isnan(estimate.half_width) for estimate in run.ended().counters.values())
    return folder, sampled, full


def test_half_widths_that_are_withdrawn_are_null_in_the_journal_and_in_its_summary(runs):
    _, sampled, full = runs
    lines = [strict(line) for line in sampled.read_text().splitlines()]
    shown = strict(run_command("report", sampled, "--json", "--full-run", full).stdout)
    summary = next(line for line in lines if line["type"] == "summary")
    for counters in (summary["counters"], shown["counters"]):
        assert counters and all(estimate["half_width"] is None for estimate in counters.values())


def test_findings_and_facts_of_a_list_without_a_bound_are_json(runs):
    folder, *_ = runs
    assert strict(run_command("check", folder, "--json").stdout)[0]["findings"]
    assert strict(run_command("file", "inspect", folder, "--json").stdout)["findings"]
