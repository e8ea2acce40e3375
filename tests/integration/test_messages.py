"""Mistakes of a user on the command line are one message each."""

import os
import sys
from pathlib import Path

import pytest
from command_line import output_of, refusal_of
from embedded_host import run_host

BY_MODEL = "policy: kernelpoint\nerror_budget: {relative_error: 0.1}"


@pytest.fixture
def refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return refusal_of


def test_a_list_whose_traces_cannot_be_read_has_no_clusters(refused, tmp_path):
    (tmp_path / "kernel-1.traceg").write_text("-kernel name = a\n-grid dim = (1,1,1)\n-block dim = (64,1,1)\n#BEGIN_TB\n")
    (tmp_path / "kernelslist.g").write_text("kernel-1.traceg\n")
    assert "none of the 1 traces can be read" in refused("plan", "--clusters", "kernelslist.g")


MARKUP = "a[/x].kpjournal"  # rich would take [/x] for a closing tag


def test_names_that_look_like_markup_are_shown_as_they_are(bench, monkeypatch):
    assert bench.had("policy: all").returncode == 0
    odd = bench.folder / MARKUP
    odd.parent.mkdir()
    bench.journal.rename(odd)
    monkeypatch.chdir(bench.folder)
    for command in (
        ["report", MARKUP],
        ["compare", MARKUP, MARKUP],
        ["compare", "-w", f"truth={MARKUP},name=[/x]", "-p", "random", "--seeds", "1", "--budgets", "0.2"],
        ["file", "inspect", _list_in("b[", bench)],
    ):
        assert "[/x]" in output_of(*command), command


def _list_in(name, bench):
    """The list under a path that looks like markup."""
    (bench.folder / name).mkdir()
    (bench.folder / name / "x]").symlink_to(bench.list_path.parent, target_is_directory=True)
    return f"{name}/x]/kernelslist.g"


def test_a_run_without_dashes_before_the_simulator_is_told_where_they_go(refused):
    message = refused("run", "-c", "kernelpoint.yaml", "accel-sim.out", "-trace", "kernelslist.g")
    assert "the command has no --" in message and "-- accel-sim.out" in message


def test_a_list_of_traces_is_no_census(refused, tmp_path):
    (tmp_path / "kernelslist.g").write_text("MemcpyHtoD,0x7f0000000000,4096\nkernel-1.traceg\n")
    message = refused("select", "kernelslist.g", "-o", "drawn")
    assert "this is a list of traces" in message and "needs no selection" in message


@pytest.mark.parametrize(("value", "advice"), [("5", "write 0.05 for 5 %"), ("1.5", "write 0.015 for 1.5 %")])
def test_a_budget_in_per_cent_is_told_how_it_is_written(refused, tmp_path, value, advice):
    (tmp_path / "k.yaml").write_text(f"version: 1\npolicy: random\nerror_budget: {{relative_error: {value}}}\n")
    assert advice in refused("plan", "kernelslist.g", "-o", "a.kpplan", "--config", "k.yaml")


def test_a_journal_or_a_plan_in_the_place_of_a_configuration_is_named(bench):
    bench.had(BY_MODEL)
    plan = bench.folder / "run.kpplan"
    made = output_of("plan", bench.list_path, "--policy", "random", "-o", plan)
    assert plan.exists(), made
    scripts = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for file, expected in ((bench.journal, "is a journal, the record of a run"), (plan, f"`plan: {plan.name}`")):
        done = run_host(bench.list_path, bench.folder, None, "-kernel_sampling", file, environment=scripts)
        assert done.returncode != 0 and expected in done.stderr, done.stderr


def test_a_second_list_in_a_folder_is_told_that_the_journal_belongs_to_another_run(bench):
    bench.had(BY_MODEL)
    names = [line for line in bench.list_path.read_text().splitlines() if line.endswith(".traceg")]
    shorter = bench.folder / "kernelslist.g"
    for name in set(names):
        (bench.folder / name).symlink_to(bench.list_path.parent / name)
    shorter.write_text("\n".join(names[: len(names) // 2]) + "\n")
    done = run_host(shorter, bench.folder, BY_MODEL)
    assert done.returncode != 0 and "belongs to another run" in done.stderr, done.stderr
