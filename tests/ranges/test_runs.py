"""Ranges of whole runs: in the journal, in `Run.ranges`, in reports, and in what a run refuses."""

import csv
import json

import numpy as np
import pytest
from command_line import run_command

import kernelpoint as kp
from kernelpoint.errors import ConfigError, ProfileError
from kernelpoint.journal import load_run
from kernelpoint.journal.records import plain

N = 200


@pytest.fixture
def table(tmp_path):
    """Prefill, then five layers of decode; the last ten launches lie in no range."""
    rows = [f"{k},{'prefill' if k < 40 else f'decode/layer.{(k - 40) // 30}'}\n" for k in range(N - 10)]
    (tmp_path / "ranges.csv").write_text("launch,path\n" + "".join(rows))
    return tmp_path / "ranges.csv"


def sampled(host, table, yaml="policy: random\nerror_budget: {relative_error: 0.02}"):
    host.run(host.open(f"{yaml}\nranges: {table}\njournal: {table.parent / 'run.kpjournal'}"))
    return load_run(table.parent / "run.kpjournal")


def test_a_run_states_each_range_with_its_own_half_width(host, table):
    run = sampled(host, table)
    assert list(run.ranges) == ["", "prefill", "decode", *(f"decode/layer.{k}" for k in range(5))]
    assert [part.launches for part in run.ranges.values()] == [N, 40, 150, 30, 30, 30, 30, 30]
    assert plain(run.ranges[""].estimates["cycles"]) == plain(run.ended().counters["cycles"])
    for path, first, last in (("prefill", 0, 40), ("decode", 40, 190)):
        stated = run.ranges[path].estimates["cycles"]
        assert abs(stated.estimate - host.cycles[first:last].sum()) <= stated.half_width
        assert stated.relative_half_width > run.ended().relative_half_width
    layers = [run.ranges[f"decode/layer.{k}"].estimates["cycles"].estimate for k in range(5)]
    assert sum(layers) == pytest.approx(run.ranges["decode"].estimates["cycles"].estimate)


def test_a_full_run_states_ranges_exactly(host, table):
    run = sampled(host, table, "policy: all")
    stated = run.ranges["decode/layer.2"].estimates["cycles"]
    assert (stated.estimate, stated.half_width) == (host.cycles[100:130].sum(), 0.0)


def test_ranges_change_no_other_line_of_the_journal(host, table, tmp_path):
    def lines(yaml):
        host.run(host.open(f"policy: random\n{yaml}\njournal: {tmp_path / f'{bool(yaml)}.kpjournal'}"))
        return load_run(tmp_path / f"{bool(yaml)}.kpjournal").records

    without, beside = lines(""), lines(f"ranges: {table}")
    assert "ranges" not in without[0].config
    assert beside[0].config["ranges"] == str(table)
    others = [record for record in beside[1:] if record.type != "range"]
    assert [plain(record) for record in others] == [plain(record) for record in without[1:]]


def test_a_run_that_is_resumed_states_the_same_ranges(host, table):
    whole = sampled(host, table)
    journal = table.parent / "run.kpjournal"
    text = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(text[: len(text) // 2]))
    again = sampled(host, table)
    assert [plain(part) for part in again.ranges.values()] == [plain(part) for part in whole.ranges.values()]


def test_a_complete_run_states_other_ranges_without_simulating(host, table):
    sampled(host, table)
    host.simulated = []
    other = table.with_name("other.csv")
    other.write_text("launch,path\n0,begin\n1,begin\n")
    again = sampled(host, other)
    assert list(again.ranges) == ["", "begin"] and not host.simulated
    size = (table.parent / "run.kpjournal").stat().st_size
    assert sampled(host, other).ranges == again.ranges
    assert (table.parent / "run.kpjournal").stat().st_size == size


def test_ranges_of_other_launches_are_refused_before_the_first_launch(host, table):
    table.write_text("launch,path\n200,x\n")
    with pytest.raises(ProfileError, match="launch: got '200'; allowed: 0 to 199"):
        sampled(host, table)
    assert host.simulated == []


def test_ranges_are_refused_where_nobody_knows_the_launches(tmp_path):
    from kernelpoint.config import parse_config
    from kernelpoint.session.setup import prepare
    from kernelpoint.workload.host_info import HostInfo

    config = parse_config({"version": 1, "policy": "kernelpoint", "ranges": "names"})
    with pytest.raises(ConfigError, match="ranges: got 'names', but this simulator names no trace list"):
        prepare(config, HostInfo("a simulator"), lambda line: None)


@pytest.fixture
def journal(traces, tmp_path):
    """A sampled run of the embedded host with names for ranges."""
    made = kp.simulate(traces, tmp_path / "run.kpjournal", policy="random", ranges="names", seed=1)
    assert len(made.ranges) > 1
    return tmp_path / "run.kpjournal"


def test_a_report_shows_the_ranges(journal):
    done = run_command("report", str(journal), "-v", cwd=journal.parent)
    assert "ranges" in done.stdout
    assert "(whole run)" in done.stdout
    page = journal.with_suffix(".html").read_text()
    assert 'id="ranges"' in page
    assert page.count("<tr") >= len(load_run(journal).ranges)


def test_ranges_are_written_as_csv_and_json(journal, tmp_path):
    done = run_command("report", str(journal), "--ranges", str(tmp_path / "ranges.csv"), cwd=tmp_path)
    assert "ranges.csv" in done.stdout
    with (tmp_path / "ranges.csv").open() as file:
        rows = list(csv.DictReader(file))
    parts = json.loads(run_command("report", str(journal), "--json", cwd=tmp_path).stdout)["ranges"]
    run = load_run(journal)
    assert [part["path"] for part in parts] == list(run.ranges)
    assert len(rows) == sum(len(part.estimates) for part in run.ranges.values())
    cycles = [float(row["estimate"]) for row in rows if row["counter"] == "cycles" and "/" not in row["path"]]
    assert cycles[0] == pytest.approx(np.sum(cycles[1:]))


def test_a_run_without_ranges_has_no_table_of_them(traces, tmp_path):
    kp.simulate(traces, tmp_path / "run.kpjournal", policy="random")
    done = run_command("report", str(tmp_path / "run.kpjournal"), "--ranges", str(tmp_path / "r.csv"), cwd=tmp_path)
    assert done.returncode != 0
    assert "has no ranges (named parts of a run); run again with `ranges:`" in done.stderr


def test_kernels_of_a_run_have_totals_with_half_widths_that_add_up(journal):
    run = load_run(journal)
    kernels, whole = run.ended().kernels, run.estimates()
    assert len(kernels) > 1 and sum(kernel.launches for kernel in kernels) == sum(run.launches)
    for counter in ("cycles", "l2_misses"):
        assert sum(k.estimates[counter].estimate for k in kernels) == pytest.approx(whole[counter].estimate)
    assert all(0.0 < k.estimates["cycles"].half_width < whole["cycles"].estimate for k in kernels if k.simulated < k.launches)
    assert {k.estimates["instructions"].half_width for k in kernels} == {0.0}  # the traces determine them
    assert "ipc" not in kernels[0].estimates and "ctas" not in kernels[0].estimates
