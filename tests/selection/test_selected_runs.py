"""Runs over the launches that a selection traced: the estimate is of all launches."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from listed_host import Listed, ctas_of

from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError, PlanError, TraceError
from kernelpoint.journal import load_run
from kernelpoint.paired import compare_runs
from kernelpoint.selection import Selection, draw, read_census, write_output

QUIET = [].append


@pytest.fixture
def select(census, tmp_path):
    """A selection of the census: its folder."""

    def make(eps=0.05, spare=2.0, seed=0):
        config = parse_config({"version": 1, "policy": "kernelpoint", "seed": seed, "error_budget": {"relative_error": eps}})
        selection, _ = draw(read_census(census, None, QUIET), config, spare, QUIET)
        write_output(tmp_path / "drawn", selection)
        return tmp_path / "drawn", selection

    return make


def test_the_estimate_is_of_all_launches_and_only_traced_ones_are_wanted(select, trace, host, tmp_path):
    folder, selection = select()
    listed = Listed(host, selection.numbers - 1)
    session = listed.open(folder / "selection.kpselect", trace(selection.numbers), state_lines=64)
    summary = listed.run(session)
    total = float(host.cycles.sum())
    assert summary["launches"] == 400 and summary["simulated"] == len(host.simulated) < 400
    assert abs(summary["estimate"] - total) <= summary["half_width"] and summary["met"]
    assert set(host.simulated) <= set((selection.numbers - 1).tolist())
    assert summary["bound_scope"] == "sampling error" and "traced" in summary["bound_scope_reason"]
    ctas, cycles = summary["counters"]["ctas"], summary["counters"]["cycles"]
    assert ctas["estimate"] == sum(ctas_of(launch) for launch in range(400)), "the census knows every grid"
    assert ctas["half_width"] == 0.0 and cycles["half_width"] > 0.0
    run = load_run(tmp_path / "run.kpjournal")
    results = [record.launch for record in run.results.values()]
    assert results == host.simulated and max(results) > len(listed.launches), "launches are those of the program"
    assert [run.name_of(unit) for unit in range(400)] == list(selection.program.names)


def test_the_run_equals_one_over_the_whole_list_with_the_same_draws(select, trace, host, tmp_path):
    """Results of the drawn launches decide; that the others have no trace changes nothing."""
    folder, selection = select()
    estimates = []
    for name, numbers in (("part", selection.numbers), ("whole", np.arange(1, 401))):
        host.simulated.clear()
        listed = Listed(host, numbers - 1)
        more = f"\njournal: {tmp_path / name}.kpjournal"
        summary = listed.run(listed.open(folder / "selection.kpselect", trace(numbers, name), more=more))
        estimates.append((summary["estimate"], summary["half_width"], sorted(host.simulated)))
    assert estimates[0] == estimates[1]


def test_a_run_that_needs_more_ends_with_its_bound_and_writes_the_next_selection(select, trace, host):
    folder, selection = select(spare=1.0)
    listed = Listed(host, selection.numbers - 1)
    first = listed.run(listed.open(folder / "selection.kpselect", trace(selection.numbers, "one"), eps=0.001))
    assert not first["met"] and first["half_width"] > 0.001 * first["estimate"]
    assert abs(first["estimate"] - host.cycles.sum()) <= first["half_width"]
    assert any("launches that were not traced: trace the" in line for line in first["warnings"])
    while not first["met"]:
        path = folder / "next" / "selection.kpselect"
        before, further = selection, Selection.load(path)
        assert set(before.numbers) < set(further.numbers)
        folder, selection = path.parent, further
        listed = Listed(host, further.numbers - 1)
        traced = trace(further.numbers, f"traces-{len(further.numbers)}")
        first = listed.run(listed.open(path, traced, eps=0.001))
    assert len(host.simulated) == len(set(host.simulated)), "a launch was simulated twice"
    assert abs(first["estimate"] - host.cycles.sum()) <= first["half_width"]


def test_a_trace_of_another_launch_is_refused_by_launch(select, trace, host):
    folder, selection = select()
    path = trace(selection.numbers)
    number = next(int(n) for n in selection.numbers if n % 4 == 1)
    (path.parent / f"kernel-{number}-ctx_0x5d0.traceg").write_text(
        (path.parent / f"kernel-{number}-ctx_0x5d0.traceg").read_text().replace("_Z4gemmPf", "_Z5otherPf")
    )
    with pytest.raises(TraceError, match=rf"kernel-{number}-.*is of _Z5otherPf, .*; launch {number - 1} of the census"):
        Listed(host, selection.numbers - 1).open(folder / "selection.kpselect", path)


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (
            lambda numbers: np.delete(numbers, 3),
            "1 launches that have to be simulated first have no trace: the tracer's numbers",
        ),
        (lambda numbers: numbers[::-1], r"launch \d+ .* comes after launch \d+; sort the list"),
        (lambda numbers: [*numbers, 401], "number 401 is not in the tracer's census"),
    ],
)
def test_a_list_of_other_launches_than_the_census_says_is_refused(select, trace, host, listed, message):
    folder, selection = select(spare=1.0)
    numbers = np.array(listed(selection.numbers))
    with pytest.raises(TraceError, match=message):
        Listed(host, numbers - 1).open(folder / "selection.kpselect", trace(numbers))


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ("\nseed: 9", PlanError, "seed: it has 0, this run 9"),
        ("\nplan: some.kpplan", ConfigError, "plan: got 'some.kpplan'"),
        ("\nclusters: online", ConfigError, "clusters: got 'online'"),
    ],
)
def test_what_does_not_go_with_a_selection_is_refused(select, trace, host, more, error, message):
    folder, selection = select()
    with pytest.raises(error, match=message):
        Listed(host, selection.numbers - 1).open(folder / "selection.kpselect", trace(selection.numbers), more=more)


@pytest.mark.parametrize("name", ["allowance", "slow_excess"])
def test_a_selection_with_a_smaller_allowance_than_its_policys_is_refused(select, trace, host, name, tmp_path):
    _, selection = select()
    policy = {"allowance": "kernelpoint", "slow_excess": "all"}[name]
    config = parse_config({"version": 1, "policy": policy, "error_budget": {"relative_error": 0.05}})
    selection, _ = draw(selection.program, config, 2.0, QUIET)
    changed = replace(selection, design=replace(selection.design, **{name: 0.1}))
    write_output(tmp_path / "changed", changed)
    with pytest.raises(PlanError, match=f"`{name}` is 0.1; a selection of `policy: {policy}` .* has at least 2"):
        host.open(
            f"policy: {policy}\nselection: {tmp_path}/changed/selection.kpselect\nerror_budget: {{relative_error: 0.05}}",
            launch_counts=[len(selection.numbers)],
            list_paths=[str(trace(selection.numbers))],
        )


def test_a_program_whose_launches_are_all_unlike_is_traced_whole_and_its_total_is_exact(census, trace, host, tmp_path):
    census.write_text("".join(census.read_text().splitlines(keepends=True)[:5]))
    host.cycles = host.cycles[:4]
    config = parse_config({"version": 1, "policy": "kernelpoint"})
    selection, first = draw(read_census(census, None, QUIET), config, 2.0, QUIET)
    assert selection.traced.all() and first.tolist() == [0, 1, 2, 3]
    write_output(tmp_path / "drawn", selection)
    listed = Listed(host, np.arange(4))
    summary = listed.run(listed.open(tmp_path / "drawn" / "selection.kpselect", trace([1, 2, 3, 4])))
    assert summary["estimate"] == host.cycles.sum() and summary["half_width"] == 0.0 and summary["met"]


def test_a_policy_that_reads_traces_draws_no_selection(census):
    config = parse_config({"version": 1, "policy": "gcl"})
    with pytest.raises(ConfigError, match="policy: gcl reads every trace"):
        draw(read_census(census, None, QUIET), config, 2.0, QUIET)


def test_a_killed_run_goes_on_with_the_same_launches(select, trace, host):
    folder, selection = select()
    listed, path = Listed(host, selection.numbers - 1), trace(selection.numbers)
    session = listed.open(folder / "selection.kpselect", path)
    _, place = session.next(0, -1)
    session.on_launch(0, place)
    launch = int(listed.launches[place])
    session.on_complete(0, place, False, int(host.cycles[launch]), 10, ("ctas",), (float(ctas_of(launch)),))
    session.journal.close()
    summary = listed.run(listed.open(folder / "selection.kpselect", path))
    assert launch not in host.simulated and summary["simulated"] == len(host.simulated) + 1
    assert Path(folder / "selection.kpselect").exists()


def test_two_runs_over_one_selection_are_compared_launch_by_launch(select, trace, host, tmp_path):
    folder, selection = select(eps=0.02)
    traces, listed, runs = trace(selection.numbers), Listed(host, selection.numbers - 1), []
    fast = host.cycles
    slow = (1.1 * fast + np.arange(len(fast)) % 7).astype(int)
    for name, host.cycles in (("fast", fast), ("slow", slow)):
        host.folder = tmp_path / name
        host.folder.mkdir()
        listed.run(listed.open(folder / "selection.kpselect", traces, eps=0.02, config_hash=name))
        runs.append(load_run(host.folder / "run.kpjournal"))
    comparison = compare_runs(*runs)
    assert comparison.launches == len(fast) and comparison.common == min(len(run.results) for run in runs) < 200
    cycles = next(row for row in comparison.rows if row.counter == "cycles")
    assert cycles.ratio.contains(slow.sum() / fast.sum()) and cycles.ratio.half_width < 0.005
    assert cycles.first == pytest.approx(fast.sum(), rel=0.02)
