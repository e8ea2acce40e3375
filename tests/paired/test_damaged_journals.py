"""Journals with a field that is gone or of another type: one message, or a result, and never a traceback."""

import json
from itertools import cycle

import pytest
from sealed_lines import journal_of

from kernelpoint.errors import KernelPointError
from kernelpoint.journal import load_run
from kernelpoint.journal.lines import split_lines
from kernelpoint.paired import compare_runs
from kernelpoint.report.sentences import sentences

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
            for odd in (GONE, next(odds), next(odds)):
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
    assert tried > 300 and refused > tried // 4
