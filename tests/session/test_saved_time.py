"""The processor time that a run saves, in the summary that the simulator prints."""

import itertools
import math

import numpy as np
import pytest

from kernelpoint.session.boundary import JOURNAL_ENV, TIME_ENV
from kernelpoint.session.session import TimeSaved


def summary_of(host, step=1.0, **info):
    """Summary of a run whose clock goes on by a step whenever it is read: every simulated launch takes one."""
    session = host.open(**info)
    session.saved = TimeSaved(itertools.count(step=step).__next__)
    host.run(session)
    return session, session.finish()


def test_the_saved_time_is_that_of_a_full_run_less_all_that_this_run_took(host):
    session, summary = summary_of(host)
    record, engine = session.summary, session.loop.sample.engine
    units = np.flatnonzero(session.loop.sample.has_result)
    weights, cycles = engine.sampling.expansions(units), engine.predict(units)[:, 0]
    full = weights.sum() / (weights @ cycles) * record.counters["cycles"].estimate
    assert session.saved.times[0] == pytest.approx(full, rel=1e-9)
    assert summary.saved_seconds == pytest.approx(full - session.saved.times[1]) and 150 < full < 250
    assert session.saved.times[1] >= 2 * record.simulated, "between launches time passes too"


def test_dear_launches_that_are_drawn_more_often_do_not_raise_the_rate():
    saved = TimeSaved(itertools.count().__next__)
    for unit, seconds, cycles in ((0, 10.0, 1000.0), (1, 1.0, 1000.0)):
        saved.end(unit, cycles, seconds)
    saved.measure(lambda units: np.array([1.0, 99.0])[units], 100_000.0)
    assert saved.times[0] == pytest.approx(109.0)


@pytest.mark.parametrize(("spent", "saves"), [(0.0, True), (80.0, True), (95.0, False), (300.0, False)])
def test_nothing_is_said_where_a_full_run_would_be_as_cheap(spent, saves):
    clock = iter([0.0, spent]).__next__
    saved = TimeSaved(clock)
    saved.end(0, 1000.0, 1.0)
    saved.measure(np.ones_like, 100_000.0)
    assert (saved.seconds is not None) == (saved.sentence() is not None) == saves


def test_a_simulator_that_prints_what_others_simulated_is_told_what_that_took(host, monkeypatch):
    session = host.open()
    host.run(session)
    monkeypatch.setenv(JOURNAL_ENV, str(session.journal.path))
    monkeypatch.setenv(TIME_ENV, "30.0 2.5")
    assert host.open().finish().saved_seconds == pytest.approx(27.5)


def test_a_launch_simulated_elsewhere_counts_with_the_time_that_it_took_there():
    saved = TimeSaved(itertools.count().__next__)
    saved.begin()
    saved.end(0, 100.0, 3.0)
    saved.end(1, 100.0)  # nothing is known of this one
    saved.measure(np.ones_like, 1000.0)
    assert saved.times == (30.0, 2.0 + 3.0)


def test_a_full_run_states_no_saved_time(host):
    assert math.isnan(summary_of(host, yaml="policy: all")[1].saved_seconds)


def test_where_launch_latency_is_skipped_the_saved_time_is_a_lower_limit(host, monkeypatch):
    monkeypatch.setattr("kernelpoint.workload.host_info.HostInfo.launch_latency", 5000)
    session, summary = summary_of(host)
    assert summary.saved_seconds > 0.0 and session.saved.sentence().startswith("at least ")
    assert session.saved.times[0] == pytest.approx(summary.saved_seconds + session.saved.times[1])
