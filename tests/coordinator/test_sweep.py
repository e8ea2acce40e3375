"""Sweeps: many simulated GPUs, one plan, ranked by paired ratios."""

from types import SimpleNamespace

import pytest
from workloads import synthesised

from kernelpoint.cli.host import program
from kernelpoint.coordinator.sweep import run_sweep, sweep_configs
from kernelpoint.errors import ConfigError, JournalError
from kernelpoint.estimate import Estimate
from kernelpoint.journal import load_run
from kernelpoint.report import pairs
from kernelpoint.report.pairs import ranked, sweep_page, sweep_table

pytest.importorskip("distributed", reason="kernelpoint[cluster] is not installed")

COMMAND = ["sim", "-config", "{}"]


def test_a_pattern_names_one_configuration_for_each_file(tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.config").write_text("")
    points = sweep_configs(COMMAND, [f"{tmp_path}/*.config"])
    assert [(point.name, point.command[-1]) for point in points] == [
        ("a", f"{tmp_path}/a.config"),
        ("b", f"{tmp_path}/b.config"),
    ]


def test_files_of_one_name_are_told_apart_by_their_folders():
    points = sweep_configs(COMMAND, ["QV100/gpgpusim.config", "RTX2060/gpgpusim.config"])
    assert [point.name for point in points] == ["QV100-gpgpusim.config", "RTX2060-gpgpusim.config"]


def test_a_grid_is_every_combination_of_its_values(tmp_path):
    path = tmp_path / "grid.yaml"
    path.write_text("-sms: [40, 80]\n--l2: [3M]\n")
    points = sweep_configs(["sim"], [str(path)])
    assert [point.command for point in points] == [
        ("sim", "-sms", "40", "--l2=3M"),
        ("sim", "-sms", "80", "--l2=3M"),
    ]
    assert [point.name for point in points] == ["sms-40-l2-3M", "sms-80-l2-3M"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *((text, r"grid\.yaml") for text in ("", "- 1", "-sms: 40", "-sms: []", "[")),
        ("-a: &a [1, 2]\n-b: *a\n", "alias"),
        ("-a: [010, 2]\n", "decimal"),
        ("".join(f"-{name}: {list(range(10))}\n" for name in "abcdefghij"), "10,000,000,000 configurations; allowed"),
    ],
)
def test_a_grid_that_is_none_or_stands_for_more_than_it_shows_is_refused(tmp_path, text, reason):
    (tmp_path / "grid.yaml").write_text(text)
    with pytest.raises(ConfigError, match=reason):
        sweep_configs(["sim"], [str(tmp_path / "grid.yaml")])


def test_a_command_without_a_place_for_the_configuration_is_refused():
    with pytest.raises(ConfigError, match=r"has no {}; write it where"):
        sweep_configs(["sim", "-config", "x"], ["a.config", "b.config"])


def test_a_sweep_ranks_simulated_gpus_by_paired_ratios_that_hold_the_true_ones(tmp_path, monkeypatch):
    from kernelpoint.coordinator.dask_pool import open_pool

    monkeypatch.chdir(tmp_path)
    synthesised(tmp_path / "traces", "iterative-solver", 60, rows=1024)
    base = (program().parent.parent / "host_configs" / "v100.yaml").read_text()
    for name, change in {"a": "2000", "b": "1000", "c": "2000"}.items():
        (tmp_path / f"{name}.yaml").write_text(base.replace("launch_latency: 2000", f"launch_latency: {change}"))
    (tmp_path / "kp.yaml").write_text(
        "version: 1\npolicy: random\nfast_model: off\njournal: run.kpjournal\nreplay: {validation: 0}\n"
    )
    command = [str(program()), "-trace", "traces/kernelslist.g", "-config", "{}"]
    rows = run_sweep(
        command,
        ["a.yaml", "b.yaml", "c.yaml"],
        "kp.yaml",
        lambda memory: open_pool(1, None, memory, lambda line: None),
        lambda line: None,
    )
    assert [(row.name, row.rank, row.tied) for row in rows] == [("b", 1, False), ("a", 2, False), ("c", 2, True)]
    totals = {row.name: row.total.estimate for row in rows}
    saved = 60 * 1000 / totals["a"]  # a launch of the second begins 1,000 cycles earlier, and nothing else differs much
    assert abs(rows[0].ratio.estimate - (1 - saved)) <= rows[0].ratio.half_width + 0.01
    assert rows[2].ratio.estimate == pytest.approx(1.0)
    assert sweep_table(rows).rows[2].cells[1] == "2 =" and "<td>b</td>" in sweep_page(rows)
    runs = [load_run(tmp_path / f"run.{name}.kpjournal") for name in "abc"]
    assert len({run.hashes["design"] for run in runs}) == 1
    assert ranked(["a", "b", "c"], runs) == rows


def test_a_run_that_cannot_be_compared_is_last_and_no_tie(monkeypatch):
    def refuse(first, second):
        raise JournalError("another plan")

    monkeypatch.setattr(pairs, "compare_runs", refuse)
    total, end = {"cycles": Estimate.of(9.0, 1.0)}, SimpleNamespace(simulated=3)
    runs = [SimpleNamespace(setting=lambda key: "cycles", estimates=lambda: total, ended=lambda: end) for _ in range(2)]
    rows = pairs.ranked(["a", "b"], runs)
    assert [(row.name, row.rank, row.tied, row.note) for row in rows] == [
        ("a", 1, False, ""),
        ("b", 2, False, "another plan"),
    ]
