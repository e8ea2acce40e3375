"""Two sampled runs, launch by launch: from journals to a bound on the ratio of their totals."""

import json
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from command_line import run_command
from sealed_lines import journal_of

from kernelpoint.errors import JournalError, KernelPointError
from kernelpoint.journal import load_run
from kernelpoint.journal.lines import split_lines
from kernelpoint.paired import compare_runs
from kernelpoint.paired.comparison import check_comparable
from kernelpoint.report.pairs import pair_page
from kernelpoint.report.text import sentences


def compared(first, second):
    return compare_runs(load_run(first), load_run(second))


def row(comparison, counter="cycles"):
    return next(r for r in comparison.rows if r.counter == counter)


def test_the_ratio_of_totals_is_bounded_more_tightly_than_by_both_runs_alone(run, cycles):
    cycles_row = row(compared(run("a", cycles[0]), run("b", cycles[1])))
    truth = cycles[1].sum() / cycles[0].sum()
    assert cycles_row.ratio.contains(truth) and cycles_row.ratio.half_width < 0.01
    assert cycles_row.difference.contains(cycles[1].sum() - cycles[0].sum())
    assert cycles_row.tighter > 4


def test_only_launches_drawn_in_both_count(run, cycles):
    first, second = run("a", cycles[0]), run("b", np.where(np.arange(400) % 2, 9000, 3000))
    comparison = compared(first, second)
    a, b = (set(load_run(path).results) for path in (first, second))
    assert comparison.common == len(a & b) and len(a) < len(b)
    assert comparison.common == min(len(a), len(b))  # the same order of permanent random numbers: samples are nested


def test_a_column_that_is_not_the_estimate_of_its_run_is_explained(run, cycles):
    few, many = run("a", cycles[0]), run("b", np.where(np.arange(400) % 2, 9000, 3000))
    stated = load_run(many).ended().estimate
    notes = [note for note in compared(many, few).notes if "drawn in both runs" in note]
    assert len(notes) == 1 and f"{many} states {stated:,.0f} cycles" in notes[0]
    assert row(compared(many, few)).first != pytest.approx(stated, rel=1e-6)
    assert not any("drawn in both runs" in note for note in compared(few, few).notes)


def test_a_run_compared_with_itself_has_the_ratio_1_and_says_so(run, cycles):
    first = run("a", cycles[0])
    comparison = compared(first, first)
    assert row(comparison).ratio.estimate == 1.0 and row(comparison).difference.estimate == 0.0
    assert any("same GPU" in note for note in comparison.notes)


@pytest.mark.parametrize("run_with_losses", ["A", "B", "both"])
def test_runs_that_lost_launches_are_compared_by_their_own_bounds(run, cycles, run_with_losses):
    # The second GPU is slower by 10 %, and by 140 % in the launches that are lost.
    chosen = np.random.default_rng(2).choice(400, 30, replace=False)
    first, second = (np.array(of_gpu) for of_gpu in cycles)
    first[chosen], second[chosen] = 5000, 12000
    losses = [frozenset(chosen.tolist() if run_with_losses in (name, "both") else ()) for name in ("A", "B")]
    yaml = "policy: random\nerror_budget: {relative_error: 0.1}"
    a, b = (run(name, values, yaml, lost) for name, values, lost in zip("ab", (first, second), losses, strict=True))
    result = compared(a, b)
    counts = [len(load_run(path).ended().lost) for path in (a, b)]
    assert [count > 0 for count in counts] == [bool(lost) for lost in losses]
    assert row(result).ratio.contains(second.sum() / first.sum()) and row(result).tighter == 1.0
    assert f"A lacks the results of {counts[0]} launches that it needs and B of {counts[1]}" in result.notes[0]
    assert result.confidence == pytest.approx(0.9)


def test_a_page_of_two_runs_without_a_common_counter_has_no_verdict(run, cycles):
    first, second = load_run(run("a", cycles[0])), load_run(run("b", cycles[1]))
    result = compare_runs(first, second)
    assert "B / A = " in pair_page(first, second, result)
    page = pair_page(first, second, replace(result, rows=()))
    assert "B / A = " not in page and "Every counter" in page


def test_exchanging_the_runs_inverts_the_ratio(run, cycles):
    first, second = run("a", cycles[0]), run("b", cycles[1])
    forth, back = row(compared(first, second)), row(compared(second, first))
    assert back.ratio.estimate == pytest.approx(1 / forth.ratio.estimate)
    assert back.difference.estimate == -forth.difference.estimate
    assert back.difference.half_width == pytest.approx(forth.difference.half_width)


def test_full_runs_are_compared_exactly(run, cycles):
    cycles_row = row(compared(run("a", cycles[0], "policy: all"), run("b", cycles[1], "policy: all")))
    assert cycles_row.ratio.estimate == cycles[1].sum() / cycles[0].sum() and cycles_row.ratio.half_width == 0.0
    assert cycles_row.difference.estimate == cycles[1].sum() - cycles[0].sum()


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"yaml": "policy: random\nerror_budget: {relative_error: 0.02}\nseed: 5"}, "config.seed"),
        ({"yaml": "policy: all"}, "of all; give two runs with the same policy"),
        ({"launch_counts": [300]}, "launches"),
    ],
)
def test_runs_that_differ_in_list_plan_policy_or_seed_are_refused_by_key(run, cycles, change, key):
    with pytest.raises(JournalError, match=key):
        compared(run("a", cycles[0]), run("b", cycles[1], **change))


def test_a_run_that_states_nothing_to_compare_is_refused(run, cycles):
    path = run("a", cycles[0])
    *lines, summary = split_lines(path.read_bytes(), "it")[0]
    path.write_bytes(journal_of([*lines, summary.replace(b'"projected":0', b'"projected":3')]))
    with pytest.raises(JournalError, match="3 of its launches were stopped early"):
        check_comparable(load_run(path))
    path.write_bytes(journal_of(lines))
    with pytest.raises(JournalError, match="a run that has ended"):
        check_comparable(load_run(path))
    with pytest.raises(JournalError, match="states no error bound"):
        check_comparable(load_run(run("none", cycles[0], "policy: random\nerror_budget: {bound: none}")))


def test_where_the_runs_say_more_by_themselves_the_comparison_says_so(run):
    even = np.full(400, 5000)  # its run draws few launches, too few for what the other one does
    comparison = compared(run("a", even), run("b", np.where(np.arange(400) % 2, 9000, 3000)))
    assert row(comparison).tighter < 1.0 and any("separate bounds" in note for note in comparison.notes)


def test_what_is_taken_for_granted_of_the_common_launches_is_said(run, cycles):
    sampled = compared(run("a", cycles[0]), run("b", cycles[1]))
    assert any("assumed: " in note and "common launches or fewer" in note for note in sampled.notes)
    full = compared(run("c", cycles[0], "policy: all"), run("d", cycles[1], "policy: all"))
    assert not any("assumed: " in note for note in full.notes)


def test_the_command_prints_a_table_and_json(run, cycles):
    first, second = run("a", cycles[0]), run("b", cycles[1])
    page = first.with_suffix(".html")
    text = run_command("compare", first, second, "-o", page).stdout
    assert "B / A = " in page.read_text() and "<h2>Every counter</h2>" in page.read_text()
    assert "cycles" in text and "simulated in both" in text and "not covered by the bound" in text
    comparison = json.loads(run_command("compare", first, second, "--json").stdout)
    assert comparison["counters"][0]["counter"] == "cycles" and comparison["common"] > 0


ODD = (None, "x", -1, 10**30, [None], {"x": None})
GONE = object()


def places(value, path=()):
    """Every place inside a record, down to the entries of lists (the first one stands for all)."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def changed(record, place, odd):
    """A copy of a record with another value, or none, at a place."""
    copy = json.loads(json.dumps(record))
    target = copy
    for key in place[:-1]:
        target = target[key]
    if odd is GONE:
        del target[place[-1]]
    else:
        target[place[-1]] = odd
    return copy


@pytest.fixture
def journal(run, cycles):
    return run("a", cycles[0][:50])


def test_no_field_of_a_journal_can_break_a_report_or_a_comparison(journal, tmp_path):
    lines = split_lines(journal.read_bytes(), "it")[0]
    records = [json.loads(line) for line in lines]
    other = load_run(journal)
    damaged, refused, tried, odds = tmp_path / "damaged.kpjournal", 0, 0, cycle(ODD)
    firsts = {record["type"]: number for number, record in reversed(list(enumerate(records)))}
    for number in firsts.values():
        for place in places(records[number]):
            for odd in (GONE, next(odds)):
                line = json.dumps(changed(records[number], place, odd)).encode()
                damaged.write_bytes(journal_of([*lines[:number], line, *lines[number + 1 :]]))
                tried += 1
                try:
                    report = load_run(damaged)
                    assert sentences(report) and report.policy and report.estimates() is not None
                    compare_runs(load_run(damaged), other).record()
                except KernelPointError as error:
                    assert str(error)
                    refused += 1
                except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
                    pytest.fail(f"{records[number]['type']} {place} = {odd!r}: {type(error).__name__}: {error}")
    assert tried > 200 and refused > tried // 4
