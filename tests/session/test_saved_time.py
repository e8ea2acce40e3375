"""The processor time that a run saves, in the summary that the simulator prints."""

import itertools
import math

import pytest

from kernelpoint.session.saved import SavedTime


def summary_of(host, **info):
    """Summary of a run whose every simulated launch took a second of processor time."""
    session = host.open(**info)
    session._saved = SavedTime(itertools.count().__next__)
    host.run(session)
    return session.summary, session.finish()


def test_the_saved_time_is_that_of_the_skipped_cycles_at_the_rate_of_the_simulated_ones(host):
    record, summary = summary_of(host)
    cycles = record.counters["cycles"]
    rate = record.simulated / cycles.simulated
    assert summary.saved_seconds == pytest.approx(rate * (cycles.estimate - cycles.simulated), rel=1e-12)


def test_a_full_run_states_no_saved_time(host):
    assert math.isnan(summary_of(host, yaml="policy: all")[1].saved_seconds)
