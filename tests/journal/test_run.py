"""A run as its journal tells it."""

import sys

import numpy as np
import pytest

from kernelpoint.errors import JournalError, SetupError
from kernelpoint.journal import (
    DecisionRecord,
    JournalWriter,
    KernelRecord,
    LaunchesRecord,
    Outcome,
    PassRecord,
    PopulationRecord,
    RunRecord,
    StrataRecord,
    SummaryRecord,
    load_run,
)
from kernelpoint.journal.records import pack


def write(path, *records):
    journal = JournalWriter(path, resume=False)
    for record in records:
        journal.write(record)
    journal.close()
    return path


def first(launches, **more):
    config = {"policy": "random", "error_budget": {"counter": "cycles"}}
    return RunRecord(
        kernelpoint="0.2.0", config=config, bound="none", estimate="mean", launches=launches, hashes={"a": "1"}, **more
    )


RECORDS = [
    first([2, 3]),
    PassRecord(0, 2),
    DecisionRecord(0, 1, 0, "simulate", 0, u=0.25, threshold=0.5, x=2.0),
    Outcome(0, 1, 0, {"cycles": 5.0, "reads": 1e308}),
    DecisionRecord(1, 2, 0, "skip", 1, u=0.75, threshold=0.5),
    DecisionRecord(1, 2, 1, "simulate", 1, u=0.75, threshold=0.8),
    Outcome(1, 2, 1, {"cycles": 7.0, "reads": 1e308}),
]


def test_a_frame_has_a_row_for_each_launch_and_the_last_decision(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = load_run(write(tmp_path / "run.kpjournal", *RECORDS)).to_frame()
    assert frame[["process", "launch"]].to_numpy().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]
    assert frame["simulated"].tolist() == [False, True, False, False, True]
    assert frame.loc[4, "action"] == "simulate" and frame.loc[4, "pass_index"] == 1
    assert frame.loc[1, "x"] == 2.0 and frame["cycles"].sum() == 12.0 and pd.isna(frame.loc[0, "cycles"])


def test_without_pandas_a_frame_is_refused_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    run = load_run(write(tmp_path / "run.kpjournal", *RECORDS))
    with pytest.raises(SetupError, match=r"pip install '\.\[formats\]'"):
        run.to_frame()


def test_reading_a_run_does_not_import_pandas(tmp_path):
    import subprocess

    path = write(tmp_path / "run.kpjournal", *RECORDS)
    code = f"import sys; from kernelpoint.journal import load_run; load_run({str(path)!r}); print('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_a_run_that_has_not_ended_says_what_is_known_so_far(tmp_path):
    run = load_run(write(tmp_path / "run.kpjournal", *RECORDS))
    assert run.summary is None and run.content()["simulated"] == 2 and run.content()["skipped"] == 3
    assert run.estimates()["cycles"].simulated == 12.0
    assert not np.isfinite(run.estimates()["reads"].simulated)
    with pytest.raises(JournalError, match="a run that has ended"):
        run.ended()


def test_where_nobody_knows_the_launches_those_seen_count(tmp_path):
    run = load_run(write(tmp_path / "run.kpjournal", first([0]), PassRecord(0), DecisionRecord(0, 4, 0, "skip")))
    assert run.launches == [5] and run.content()["skipped"] == 5


def test_a_population_takes_the_place_of_the_first_record(tmp_path):
    population = PopulationRecord([3], None, {"design": "d"}, StrataRecord([2]))
    records = [first([0]), PassRecord(0), DecisionRecord(0, 1, 0, "skip")]
    run = load_run(write(tmp_path / "run.kpjournal", *records, population))
    assert run.launches == [3] and run.hashes == {"a": "1", "design": "d"} and run.frozen.strata.units == [2]


def test_a_setting_that_the_journal_lacks_is_an_error(tmp_path):
    run = load_run(write(tmp_path / "run.kpjournal", *RECORDS))
    assert run.setting("error_budget.counter") == "cycles" and run.policy == "random"
    with pytest.raises(JournalError, match="its configuration lacks the key 'seed'"):
        run.setting("seed")


def summary(launches, simulated):
    return SummaryRecord(
        **dict.fromkeys(("estimate", "half_width", "relative_half_width", "cycle_speedup", "one_per_stream_speedup")),
        **dict.fromkeys(("passes", "projected", "seed"), 0),
        **dict.fromkeys(("bound", "policy"), ""),
        **{key: [] for key in ("processes", "degraded", "lost", "never_completed")},
        **{key: [] for key in ("assumptions", "warnings", "not_covered")},
        **{key: {} for key in ("counters", "ratios")},
        launches=launches, simulated=simulated, skipped=launches - simulated, counter="cycles", bound_scope="total error",
        confidence=0.95, relative_error=0.01, met=True, kernels=[KernelRecord("gemm", launches, simulated, {})],
    )  # fmt: skip


def estimates(process, first, cycles, kernels=None):
    numbers = [0] * len(cycles)
    return LaunchesRecord(
        process, first, len(cycles), pack(cycles, "<f8"), pack(numbers, "<i4"), pack(kernels or numbers, "<i4")
    )


def test_estimates_of_launches_come_from_the_last_record_of_each_block(tmp_path):
    blocks = [
        estimates(0, 0, [9.0, 9.0]),
        estimates(0, 0, [1.0, 5.0]),
        estimates(1, 0, [2.0, np.nan]),
        estimates(1, 2, [7.0]),
    ]
    run = load_run(write(tmp_path / "run.kpjournal", *RECORDS, *blocks, summary(5, 2)))
    assert np.array_equal(run.launch_estimates.cycles, [1.0, 5.0, 2.0, np.nan, 7.0], equal_nan=True)
    assert run.name_of(4) == "gemm" and run.to_frame()["estimated_cycles"].sum() == 15.0


@pytest.mark.parametrize(
    "blocks",
    [
        [estimates(0, 0, [1.0, 5.0])],
        [estimates(0, 0, [1.0, 5.0, 3.0]), estimates(1, 0, [1.0, 2.0, 3.0])],
        [estimates(0, 0, [1.0, 5.0]), estimates(1, 0, [1.0, 2.0, 3.0]), estimates(1, 1, [1.0])],
        [estimates(0, 0, [1.0, 5.0]), estimates(1, 0, [1.0, 2.0, 3.0], [0, 1, 0])],
        [estimates(0, 0, [1.0, 5.0]), LaunchesRecord(1, 0, 3, pack([1.0, 2.0], "<f8"), *[pack([0, 0, 0], "<i4")] * 2)],
        [estimates(0, 0, [1.0, 5.0]), LaunchesRecord(1, 0, 3, "no base64", *[pack([0, 0, 0], "<i4")] * 2)],
    ],
    ids=["a launch is missing", "one too many", "one twice", "no such kernel", "a number is missing", "no array"],
)
def test_estimates_that_do_not_fit_the_launches_are_an_error(tmp_path, blocks):
    run = load_run(write(tmp_path / "run.kpjournal", *RECORDS, *blocks, summary(5, 2)))
    with pytest.raises(JournalError, match="the journal is damaged"):
        _ = run.launch_estimates
