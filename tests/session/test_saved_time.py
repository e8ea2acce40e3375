"""The processor time that a run saves, in the summary that the simulator prints."""

import itertools
import math

import pytest

from kernelpoint.session.saved import SavedTime
from kernelpoint.session.work import JOURNAL_VARIABLE, RATE_VARIABLE


def summary_of(host, **info):
    """Summary of a run whose every simulated launch took a second of processor time."""
    session = host.open(**info)
    session.saved = SavedTime(itertools.count().__next__)
    host.run(session)
    return session.summary, session.finish()


def test_the_saved_time_is_that_of_the_skipped_cycles_at_the_rate_of_the_simulated_ones(host):
    record, summary = summary_of(host)
    cycles = record.counters["cycles"]
    rate = record.simulated / cycles.simulated
    assert summary.saved_seconds == pytest.approx(rate * (cycles.estimate - cycles.simulated), rel=1e-12)


def test_a_simulator_that_prints_what_others_simulated_is_told_their_rate(host, monkeypatch):
    session = host.open()
    host.run(session)
    monkeypatch.setenv(JOURNAL_VARIABLE, str(session.journal.path))
    monkeypatch.setenv(RATE_VARIABLE, "30.0 2000.0")
    again = host.open()
    cycles = session.summary.counters["cycles"]
    assert again.finish().saved_seconds == pytest.approx(0.015 * (cycles.estimate - cycles.simulated))


def test_a_launch_simulated_elsewhere_counts_with_the_time_that_it_took_there():
    saved = SavedTime(itertools.count().__next__)
    saved.begin()
    saved.took(3.0)
    saved.end(100.0)
    saved.end(100.0)  # nothing is known of this one
    assert (saved.seconds, saved.cycles) == (3.0, 100.0)


def test_a_full_run_states_no_saved_time(host):
    assert math.isnan(summary_of(host, yaml="policy: all")[1].saved_seconds)
