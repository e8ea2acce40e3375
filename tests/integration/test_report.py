"""The report of a run, in the terminal and as a page."""

import csv
import json
from pathlib import Path

import pytest
from command_line import run_command
from sealed_lines import journal_of
from trace_events import import_trace

from kernelpoint.journal import load_run
from kernelpoint.journal.lines import split_lines
from kernelpoint.report import result
from kernelpoint.session.verdict import verdict


@pytest.fixture
def full(bench):
    """The journal of a full run."""
    bench.had("policy: all")
    return bench.journal.rename(bench.folder / "full.kpjournal")


def test_the_summary_is_printed_as_json(bench):
    bench.had("policy: random\nerror_budget: {relative_error: 0.05}")
    done = run_command("report", bench.journal, "--json")
    assert json.loads(done.stdout) == bench.report().content()


def test_the_terminal_says_what_the_bound_rests_on_and_leaves_out(bench):
    bench.had("policy: random\nerror_budget: {relative_error: 0.05}")
    text = run_command("report", bench.journal, "--verbose").stdout
    assert "the bound assumes" in text and "not covered by the bound" in text


def test_the_terminal_shows_the_verdict_and_five_answers_and_before_files_the_verdict_alone(bench):
    bench.had("policy: random\nerror_budget: {relative_error: 0.05}")
    lines = run_command("report", bench.journal).stdout.splitlines()
    questions = ["Interval", "Cost", "What dominates", "What it could miss", "What next"]
    assert lines[0] == verdict(bench.report().summary) and [line.partition(":")[0] for line in lines[1:6]] == questions
    assert len(lines) == 7 and lines[6].startswith("page: ")
    assert len(run_command("report", bench.journal, "--csv", bench.folder / "l.csv").stdout.splitlines()) == 2


def test_the_page_tells_the_error_against_a_full_run(bench, full):
    bench.had("policy: random\nerror_budget: {relative_error: 0.05}")
    page = bench.folder / "report.html"
    done = run_command("report", bench.journal, "-o", page, "--full-run", full)
    html = page.read_text()
    assert done.returncode == 0 and "the stated interval" in html
    assert "non-sampling error" in html and "inside the stated interval" in done.stdout


def test_a_full_run_on_another_gpu_is_refused_as_truth(bench, full):
    first, *rest = split_lines(full.read_bytes(), "full")[0]
    full.write_bytes(journal_of([first.replace(b'"simulator_config":"', b'"simulator_config":"x'), *rest]))
    bench.had("policy: random\nerror_budget: {relative_error: 0.05}")
    done = run_command("report", bench.journal, "-o", bench.folder / "r.html", "--full-run", full)
    assert done.returncode == 1 and "simulator_config differs" in done.stderr


def test_a_budget_on_a_ratio_is_reported_in_the_terminal_and_on_the_page(bench):
    bench.had("policy: random\nerror_budget: {relative_error: 0.05, counter: l2_miss_rate}")
    summary = bench.report().content()
    assert summary["met"] and summary["estimate"] == summary["ratios"]["l2_miss_rate"]["estimate"]
    page = bench.folder / "report.html"
    assert "l2_miss_rate" in run_command("report", bench.journal, "-v").stdout
    assert run_command("report", bench.journal, "-o", page).returncode == 0 and "l2_miss_rate" in page.read_text()


def test_a_page_can_be_made_when_the_plan_is_gone(bench):
    bench.run("policy: kernelpoint\nerror_budget: {relative_error: 0.05}")
    plan = bench.report().header.plan
    Path(plan).unlink()
    page = bench.folder / "report.html"
    done = run_command("report", bench.journal, "-o", page)
    assert done.returncode == 0, done.stderr
    html = page.read_text()
    assert "plan cannot be read any more" in html and plan in html and "How the bound shrank" in html


def test_kernels_whose_short_names_are_equal_are_one_with_all_their_cycles(bench, monkeypatch):
    bench.had("policy: kernelpoint\nerror_budget: {relative_error: 0.05}")
    run = bench.report()
    monkeypatch.setattr(result, "base_key", lambda name: "same")
    (kernel,) = result.result_of(run).kernels
    assert kernel.cycles.estimate == pytest.approx(run.summary.estimate, rel=1e-9)
    assert (kernel.launches, kernel.simulated) == (run.launches[0], run.summary.simulated)
    assert kernel.variance in (None, 1.0)


def test_every_launch_is_exported_and_the_cycles_add_up_to_the_estimate(bench):
    pytest.importorskip("vl_convert", reason="kernelpoint[report] is not installed")
    bench.had("policy: kernelpoint\nerror_budget: {relative_error: 0.05}")
    table, trace, figures = (bench.folder / name for name in ("launches.csv", "trace.json", "figures"))
    done = run_command("report", bench.journal, "--csv", table, "--figures", figures)
    assert done.returncode == 0 and not bench.journal.with_suffix(".html").exists(), done.stderr
    timeline = run_command("report", bench.journal, "--as", "perfetto", "-o", trace)
    assert timeline.returncode == 0 and f"{trace}: " in timeline.stdout.replace("\n", ""), timeline.stderr
    run = bench.report()
    rows = list(csv.DictReader(table.open()))
    assert [int(row["launch"]) for row in rows] == list(range(run.launches[0]))
    assert sum(float(row["cycles"]) for row in rows) == pytest.approx(run.summary.estimate, rel=1e-9)
    assert sum(row["how"] == "simulated" for row in rows) == run.summary.simulated and all(row["kernel"] for row in rows)
    shown = import_trace(trace.read_text())
    assert sorted(b for slices in shown.rows.values() for b, _ in slices)[0] == 0
    assert sum(map(len, shown.rows.values())) == len(rows)
    assert [len(values) for values in shown.counters.values()] == [len(run.looks) + 1]
    assert {path.suffix for path in figures.iterdir()} == {".pdf", ".svg", ".tex", ".txt", ".bib"}


def test_without_options_the_page_is_written_beside_the_journal(bench):
    bench.had("policy: random\nerror_budget: {relative_error: 0.05}")
    done = run_command("report", cwd=bench.folder)
    assert done.returncode == 0 and "page: run.html" in done.stdout and (bench.folder / "run.html").exists()


def test_json_tells_the_error_against_a_full_run(bench, full):
    bench.had("policy: random\nerror_budget: {relative_error: 0.05}")
    error = json.loads(run_command("report", bench.journal, "--json", "--full-run", full).stdout)["full_run"]
    truth, run = load_run(full), bench.report()
    assert error["total"] == truth.summary.estimate
    assert error["error"] == pytest.approx(run.summary.estimate / truth.summary.estimate - 1)
    simulated = sum(result.counters["cycles"] for result in run.results.values())
    same = sum(truth.results[unit].counters["cycles"] for unit in run.results)
    assert error["non_sampling_error"] == pytest.approx(simulated / same - 1, abs=1e-12)


def test_a_folder_without_a_journal_is_one_message(tmp_path):
    done = run_command("report", cwd=tmp_path)
    assert done.returncode == 1 and "expected one journal (.kpjournal) in this folder, found none" in done.stderr
