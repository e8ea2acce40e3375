"""The command: table, files, resuming, refusals."""

import csv
import json
import shutil

import pytest
from caches import new_cache

from kernelpoint.api import simulate
from kernelpoint.cli import main
from kernelpoint.evaluation import run as running
from kernelpoint.evaluation.run import PACKAGE, code_version
from kernelpoint.evaluation.workload import PROGRAM, full_run
from kernelpoint_lab.synth.compose import compose, prepare
from kernelpoint_lab.synth.lists import write_list


def compare(monkeypatch, *arguments, width="220"):
    monkeypatch.setattr("sys.argv", ["kernelpoint", "compare", *map(str, arguments)])
    monkeypatch.setenv("COLUMNS", width)
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_predictions_for_the_journal_of_a_full_run_are_those_that_a_run_there_would_get(monkeypatch, capsys, tmp_path):
    if not PROGRAM.is_file():
        pytest.skip(f"{PROGRAM} is not built; `make build` does")
    prepare(tmp_path / "traces", False, 3)
    request = compose("iterative-solver", launches=60, sizes={"rows": [1024]})
    write_list(request.sequence, tmp_path / "traces", request.launches, request.description)
    traces = tmp_path / "traces" / "kernelslist.g"
    simulate(traces, tmp_path / "full.kpjournal", policy="all")
    workload = f"truth={tmp_path / 'full.kpjournal'},traces={traces}"
    assert compare(monkeypatch, "-w", workload, "-p", "kernelpoint", "--budgets", "0.05", "--seeds", "1") == 0
    printed = capsys.readouterr()
    assert "predicts with rtx, another GPU than the simulated one" in printed.err + printed.out


def test_a_comparison_prints_a_table_and_writes_page_json_and_csv(monkeypatch, capsys, truth_file, tmp_path):
    out = tmp_path / "out"
    code = compare(
        monkeypatch, "-w", truth_file, "--policies", "random,stem,gcl", "--budgets", "0.05", "--seeds", "2", "-o", out
    )
    printed = capsys.readouterr().out
    assert code == 0 and "stem *" in printed and "promised" in printed and "gcl: policy gcl needs the traces" in printed
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
    assert compare(monkeypatch, *arguments) == 130
    rows = out / "rows.jsonl"
    rows.write_text(rows.read_text() + '{"key": "torn')
    monkeypatch.setattr(running, "evaluate", lambda inputs, cell: done.append(cell) or real(inputs, cell))
    assert compare(monkeypatch, *arguments) == 0
    assert len(done) == 6 and len(set(map(repr, done))) == 6, "no cell was computed twice"
    again = (out / "comparison.csv").read_text()
    assert compare(monkeypatch, *arguments) == 0
    assert len(done) == 6 and (out / "comparison.csv").read_text() == again


def test_another_truth_makes_other_rows(monkeypatch, truth_file, tmp_path):
    out = tmp_path / "out"
    arguments = ("-w", truth_file, "--policies", "random", "--budgets", "0.05", "--seeds", "1", "-o", out)
    compare(monkeypatch, *arguments)
    truth_file.write_text(truth_file.read_text().replace(",32,0,7,0,", ",32,0,7,0,9"))
    compare(monkeypatch, *arguments)
    assert len((out / "rows.jsonl").read_text().splitlines()) == 2


def test_rows_of_other_code_are_never_served(monkeypatch, truth_file, tmp_path):
    out = tmp_path / "out"
    arguments = ("-w", truth_file, "--policies", "random", "--budgets", "0.05", "--seeds", "2", "-o", out)
    compare(monkeypatch, *arguments)
    monkeypatch.setattr(running, "code_version", lambda: "after an edit")
    done = []
    real = running.evaluate
    monkeypatch.setattr(running, "evaluate", lambda inputs, cell: done.append(cell) or real(inputs, cell))
    compare(monkeypatch, *arguments)
    assert len(done) == 2 and len((out / "rows.jsonl").read_text().splitlines()) == 4
    compare(monkeypatch, *arguments)
    assert len(done) == 2


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("policies/stem.py", True),
        ("policies/brand_new.py", True),
        ("estimation/engine.py", True),
        ("randomness.py", True),
        ("evaluation/evaluate.py", True),
        ("evaluation/page.py", False),
        ("cli/compare.py", False),
    ],
)
def test_every_edit_that_could_change_a_row_changes_the_version_of_the_code(tmp_path, file, changes):
    package = tmp_path / "kernelpoint"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("*.so", "bin", "lib", "checkpoints", "__pycache__"))
    before = code_version(package)
    with (package / file).open("a") as changed:
        changed.write("# edited\n")
    code_version.cache_clear()
    assert (code_version(package) != before) == changes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policies", "simpoint"], "allowed: all"),
        (["--budgets", "0.05,2"], "between 0 and 1"),
        (["-w", "absent.csv"], "absent.csv: cannot be read"),
        (["-o", __file__], "allowed: a folder that can be made"),
    ],
)
def test_what_cannot_be_is_refused_with_one_message(monkeypatch, truth_file, arguments, message):
    assert message in str(compare(monkeypatch, "-w", truth_file, *arguments))


def test_a_policy_or_budget_named_twice_is_run_once(monkeypatch, truth_file, tmp_path):
    out = tmp_path / "out"
    arguments = ("-w", truth_file, "-p", "random,random", "--budgets", "0.05,0.050", "--seeds", "2", "-o", out)
    assert compare(monkeypatch, *arguments) == 0
    assert [row["seed"] for row in csv.DictReader((out / "comparison.csv").open())] == ["0", "1"]


def test_two_workloads_of_one_name_are_refused(monkeypatch, truth_file):
    assert "give each its own name" in str(compare(monkeypatch, "-w", truth_file, "-w", truth_file))


@pytest.mark.skipif(not PROGRAM.is_file(), reason="the embedded host is not built; make build")
def test_methods_choose_under_one_configuration_and_are_judged_under_another(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("KERNELPOINT_CACHE", new_cache(tmp_path / "cache"))
    traces, out = tmp_path / "traces", tmp_path / "out"
    request = compose("iterative-solver", launches=60, sizes={"rows": [1024]})
    prepare(traces, False, 3)
    write_list(request.sequence, traces, request.launches, request.description)
    workload = f"host=rtx,profile=host:v100,traces={traces / 'kernelslist.g'},name=solver"
    assert compare(monkeypatch, "-w", workload, "--policies", "stem,pka", "--budgets", "0.05", "-o", out) == 0
    printed = capsys.readouterr().out
    assert "stem" in printed and "stem *" not in printed and len(list((out / "host").glob("host-*.csv"))) == 2
    rows = json.loads((out / "comparison.json").read_text())["rows"]
    assert not any(row["from_truth"] or row["reason"] for row in rows)
    model = f"host=rtx,profile=model,traces={traces / 'kernelslist.g'},name=solver"
    assert compare(monkeypatch, "-w", model, "-p", "stem,sieve", "--budgets", "0.05", "--seeds", "1", "-o", out) == 0
    printed = capsys.readouterr()
    assert "stem" in printed.out and "stem *" not in printed.out
    assert "the fast model predicts with v100, another GPU" in printed.err + printed.out
    assert "very cycles" not in printed.err + printed.out


@pytest.mark.skipif(not PROGRAM.is_file(), reason="the embedded host is not built; make build")
def test_a_truth_that_the_fast_model_made_itself_is_told(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("KERNELPOINT_CACHE", new_cache(tmp_path / "cache"))
    request = compose("iterative-solver", launches=60, sizes={"rows": [1024]})
    traces = tmp_path / "traces"
    prepare(traces, False, 3)
    write_list(request.sequence, traces, request.launches, request.description)
    list_file = traces / "kernelslist.g"
    truth = full_run(str(list_file), "v100", tmp_path / "host", print)  # a table: nothing in it names the GPU
    for model, told in (("auto", True), ("rtx", False)):
        workload = f"truth={truth},traces={list_file},name=solver,fast_model={model},profile=model"
        arguments = ("-p", "stem", "--budgets", "0.05", "--seeds", "1", "-o", tmp_path / model)
        assert compare(monkeypatch, "-w", workload, *arguments) == 0
        printed = capsys.readouterr()
        assert ("predicts the very cycles of the truth" in printed.err + printed.out) == told
        notes = json.loads((tmp_path / model / "comparison.json").read_text())["workloads"][0]["notes"]
        assert any("very cycles" in note for note in notes) == told


def test_a_narrow_terminal_gets_the_columns_that_fit(monkeypatch, capsys, truth_file):
    arguments = ("-w", truth_file, "--policies", "random,stem", "--budgets", "0.05", "--seeds", "2")
    printed = {}
    for width in ("80", "220"):
        compare(monkeypatch, *arguments, width=width)
        printed[width] = capsys.readouterr().out
    table = printed["80"].split("cycle speedup:")[0]
    assert max(map(len, table.splitlines())) <= 80 and "\nstem *" in table.replace("\n ", "\n")
    assert "planning" not in table and "columns are left out" in printed["80"]
    assert "spread" in printed["220"].split("cycle speedup:")[0] and "columns are left out" not in printed["220"]


def test_the_figure_has_a_line_for_each_method(monkeypatch, truth_file, tmp_path):
    pytest.importorskip("vl_convert")
    compare(monkeypatch, "-w", truth_file, "-p", "random,all", "--seeds", "1", "--figures", tmp_path / "figures")
    text = (tmp_path / "figures" / "comparison.svg").read_text()
    assert (
        "random" in text
        and "all" in text
        and (tmp_path / "figures" / "comparison.pdf").read_bytes().startswith(b"%PDF")
    )
