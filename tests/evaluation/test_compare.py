"""The command: table, files, resuming, refusals."""

import csv
import json
import shutil
import subprocess

import pytest
from command_line import output_of, refusal_of, run_command
from workloads import synthesised

from kernelpoint.api import simulate
from kernelpoint.cli.host import program
from kernelpoint.evaluation import evaluate as running
from kernelpoint.evaluation.evaluate import PACKAGE, code_version


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "220")


def compare(*arguments):
    return output_of("compare", *arguments)


def test_predictions_for_the_journal_of_a_full_run_are_those_that_a_run_there_would_get(tmp_path):
    traces = synthesised(tmp_path / "traces", "iterative-solver", 60, rows=1024)
    simulate(traces, tmp_path / "full.kpjournal", policy="all")
    workload = f"truth={tmp_path / 'full.kpjournal'},traces={traces}"
    printed = compare("-w", workload, "-p", "kernelpoint", "--budgets", "0.05", "--seeds", "1")
    assert "predicts with rtx (the host is itself the fast model" in printed


def test_a_comparison_prints_a_table_and_writes_page_json_and_csv_with_each_policy_and_budget_once(truth_file, tmp_path):
    out = tmp_path / "out"
    twice = ("--policies", "random,stem,gcl,random", "--budgets", "0.05,0.050")
    arguments = (*twice, "--seeds", "2", "-o", out)
    printed = compare("-w", truth_file, *arguments)
    assert "stem *" in printed and "promised" in printed and "gcl: policy gcl needs the traces" in printed
    content = json.loads((out / "comparison.json").read_text())
    assert {line["policy"] for line in content["overall"]} == {"random", "stem", "gcl"}
    rows = list(csv.DictReader((out / "comparison.csv").open()))
    assert len(rows) == 6 and {row["seed"] for row in rows} == {"0", "1"}
    page = (out / "comparison.html").read_text()
    assert "stem *" in page and "needs the traces" in page
    assert 'src="http' not in page and 'href="http' not in page, "a page is read without a network"
    text = (out / "comparison.md").read_text()
    assert "| stem * | 5 % |" in text and "- gcl: policy gcl needs the traces" in text


def test_a_comparison_that_was_stopped_goes_on_where_it_was(monkeypatch, truth_file, tmp_path):
    out = tmp_path / "out"
    arguments = ("-w", truth_file, "--policies", "random,stem", "--budgets", "0.05", "--seeds", "3", "-o", out)
    done = []
    real = running.evaluate

    def counted(inputs, cell):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(cell)
        return real(inputs, cell)

    monkeypatch.setattr(running, "evaluate", counted)
    assert run_command("compare", *arguments).returncode == 130
    rows = out / "rows.jsonl"
    rows.write_text(rows.read_text() + '{"key": "torn')
    monkeypatch.setattr(running, "evaluate", lambda inputs, cell: done.append(cell) or real(inputs, cell))
    compare(*arguments)
    assert len(done) == 6 and len(set(map(repr, done))) == 6, "no cell was computed twice"
    again = (out / "comparison.csv").read_text()
    compare(*arguments)
    assert len(done) == 6 and (out / "comparison.csv").read_text() == again


def test_another_truth_makes_other_rows(truth_file, tmp_path):
    out = tmp_path / "out"
    arguments = ("-w", truth_file, "--policies", "random", "--budgets", "0.05", "--seeds", "1", "-o", out)
    compare(*arguments)
    truth_file.write_text(truth_file.read_text().replace(",32,0,7,0,", ",32,0,7,0,9"))
    compare(*arguments)
    assert len((out / "rows.jsonl").read_text().splitlines()) == 2


def test_rows_of_other_code_are_never_served(monkeypatch, truth_file, tmp_path):
    out = tmp_path / "out"
    arguments = ("-w", truth_file, "--policies", "random", "--budgets", "0.05", "--seeds", "2", "-o", out)
    compare(*arguments)
    monkeypatch.setattr(running, "code_version", lambda: "after an edit")
    done = []
    real = running.evaluate
    monkeypatch.setattr(running, "evaluate", lambda inputs, cell: done.append(cell) or real(inputs, cell))
    compare(*arguments)
    assert len(done) == 2 and len((out / "rows.jsonl").read_text().splitlines()) == 4
    compare(*arguments)
    assert len(done) == 2


@pytest.mark.parametrize("file", ["policies/stem.py", "policies/brand_new.py", "estimation/engine.py", "randomness.py"])
def test_every_edit_changes_the_version_of_the_code(tmp_path, file):
    package = tmp_path / "kernelpoint"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("*.so", "bin", "lib", "checkpoints", "__pycache__"))
    before = code_version(package)
    with (package / file).open("a") as changed:
        changed.write("# edited\n")
    code_version.cache_clear()
    assert code_version(package) != before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policies", "simpoint"], "allowed: all"),
        (["--budgets", "0.05,2"], "between 0 and 1"),
        (["-w", "absent.csv"], "absent.csv cannot be read"),
        (["-w", "TRUTH"], "give each another one"),
        (["-o", __file__], f"{__file__}: File exists; name another file or folder"),
    ],
)
def test_what_cannot_be_is_refused_with_one_message(truth_file, arguments, message):
    given = (truth_file if word == "TRUTH" else word for word in arguments)
    assert message in refusal_of("compare", "-w", truth_file, *given)


def test_methods_choose_under_one_configuration_and_are_judged_under_another(tmp_path):
    traces, out = synthesised(tmp_path / "traces", "iterative-solver", 60, rows=256), tmp_path / "out"
    workload = f"host=rtx,profile=host:v100,traces={traces},name=solver"
    printed = compare("-w", workload, "--policies", "stem,pka", "--budgets", "0.05", "-o", out)
    assert "stem" in printed and "stem *" not in printed
    rows = json.loads((out / "comparison.json").read_text())["rows"]
    assert not any(row["from_truth"] or row["reason"] for row in rows)
    model = f"host=rtx,profile=model,traces={traces},name=solver"
    printed = compare("-w", model, "-p", "stem,sieve", "--budgets", "0.05", "--seeds", "1", "-o", out)
    assert "stem" in printed and "stem *" not in printed
    assert "the fast model predicts with v100 (the host is itself" in printed and "very cycles" not in printed


def test_a_truth_that_the_fast_model_made_itself_is_told(tmp_path):
    traces = synthesised(tmp_path / "traces", "iterative-solver", 60, rows=1024)
    truth = tmp_path / "truth.csv"  # a table: nothing in it names the GPU
    subprocess.run([program(), "-trace", traces, "-config", "v100", "-results", truth], check=True)
    for model, warned in (("auto", True), ("rtx", False)):
        workload = f"truth={truth},traces={traces},name=solver,fast_model={model},profile=model"
        arguments = ("-p", "stem", "--budgets", "0.05", "--seeds", "1", "-o", tmp_path / model)
        assert ("predicts the very cycles of the truth" in compare("-w", workload, *arguments)) == warned
        notes = json.loads((tmp_path / model / "comparison.json").read_text())["workloads"][0]["notes"]
        assert any("very cycles" in note for note in notes) == warned


def test_a_narrow_terminal_gets_the_columns_that_fit(monkeypatch, truth_file):
    arguments = ("-w", truth_file, "--policies", "random,stem", "--budgets", "0.05", "--seeds", "2")
    printed = {}
    for width in ("80", "220"):
        monkeypatch.setenv("COLUMNS", width)
        printed[width] = run_command("compare", *arguments).stdout
    table = printed["80"].split("cycle speedup:")[0]
    assert max(map(len, table.splitlines())) <= 80 and "\nstem *" in table.replace("\n ", "\n")
    assert "planning" not in table and "columns are left out" in printed["80"]
    assert "spread" in printed["220"].split("cycle speedup:")[0] and "columns are left out" not in printed["220"]


def test_the_figure_has_a_line_for_each_method(truth_file, tmp_path):
    pytest.importorskip("vl_convert")
    compare("-w", truth_file, "-p", "random,all", "--seeds", "1", "--figures", tmp_path / "figures")
    text = (tmp_path / "figures" / "comparison.svg").read_text()
    assert "random" in text and "all" in text and (tmp_path / "figures" / "comparison.pdf").read_bytes().startswith(b"%PDF")
