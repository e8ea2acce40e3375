"""The trace of a run is taken by Perfetto's importer as it is meant."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_events import import_trace
from views import a_run

from kernelpoint.report.export import ESTIMATED, PROJECTED, SIMULATED, Launch, Options
from kernelpoint.report.exports import perfetto


@pytest.fixture(scope="module")
def trace_of(tmp_path_factory):
    """Writes a trace of the given launches: its text."""
    folder = tmp_path_factory.mktemp("trace")
    run = a_run(folder / "run.kpjournal")

    def write(launches):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(perfetto, "launches", lambda _: iter(launches))
            sentence = perfetto.Perfetto().write(run, folder / "trace.json", Options())
        assert sentence.startswith(f"{len(launches)} launches;")
        return (folder / "trace.json").read_text()

    return write


def a_launch(number, cycles, how=ESTIMATED, kernel="k", process=0):
    counters = {"cycles": cycles} if how == SIMULATED else {}
    return Launch(process, number, kernel, how, 0, cycles, counters)


@given(st.lists(st.floats(min_value=0.0, max_value=1e9), min_size=1, max_size=40), st.floats(0.0, 1e9))
@settings(max_examples=60)
def test_launches_that_follow_each_other_stay_in_their_row(trace_of, cycles, first):
    imported = import_trace(trace_of([a_launch(n, c) for n, c in enumerate([first, *cycles])]))
    (slices,) = imported.rows.values()
    assert len(slices) == len(cycles) + 1
    assert all(before[1] == after[0] for before, after in itertools.pairwise(slices))
    assert slices[-1][1] == pytest.approx(1000 * (first + sum(cycles)), rel=1e-12, abs=1)


def test_rows_are_kernels_in_groups_for_what_is_known_of_them(trace_of):
    hows = [SIMULATED, ESTIMATED, PROJECTED, ESTIMATED]
    launches = [
        a_launch(n, 10.5, how, kernel, process)
        for process in (0, 1)
        for n, (how, kernel) in enumerate(zip(hows, ["a", "a", "b", ""], strict=True))
    ]
    imported = import_trace(trace_of(launches))
    assert imported.order == [
        "half-width after each pass, over simulated cycles",
        *(f"process {process}: {how}" for process in (0, 1) for how in (SIMULATED, PROJECTED, ESTIMATED)),
    ]
    assert set(imported.rows) == {
        (f"process {process}: {how}", kernel)
        for process in (0, 1)
        for how, kernel in ((SIMULATED, "a"), (PROJECTED, "b"), (ESTIMATED, "a"), (ESTIMATED, perfetto.UNNAMED))
    }
    assert imported.rows["process 1: projected", "b"] == [(21_000, 31_500)]


def test_the_half_width_is_a_counter_that_holds_until_the_end(trace_of):
    imported = import_trace(trace_of([a_launch(0, 5000.0, SIMULATED), a_launch(1, 5100.5)]))
    ((name, values),) = imported.counters.items()
    assert name == "passes half-width in %"
    assert values == [(5_000_000, pytest.approx(0.99)), (10_100_500, pytest.approx(0.99))]


def test_an_estimate_below_nothing_has_no_length(trace_of):
    imported = import_trace(trace_of([a_launch(0, 4.0), a_launch(1, -2.0), a_launch(2, None), a_launch(3, 1.0)]))
    assert imported.rows["process 0: estimated", "k"] == [(0, 4000), (4000, 4000), (4000, 4000), (4000, 5000)]
