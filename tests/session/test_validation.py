"""Misses of replay are measured before the sample is drawn, and are part of the bound."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_host import ReplayingHost

from kernelpoint.errors import HostError
from kernelpoint.estimation import AssistedDesign, Engine, ErrorBudget
from kernelpoint.estimation.nonsampling.replay_error import EXPECTED_SPREAD
from kernelpoint.journal import FurtherValidationsRecord, load_run
from kernelpoint.planning.validation_launches import choose, depth, successive
from kernelpoint.session.orders import DONE, KEPT, REPLAYED
from kernelpoint.session.verdict import verdict

LAUNCHES = 200
OPEN = "policy: random\nerror_budget: {relative_error: 0.1}"
LOOSE = OPEN + "\nreplay: {validation: 3}"


def test_validations_come_first_and_end_in_launches_that_the_sample_simulates_from_replayed_state(host):
    replaying = ReplayingHost(host)
    session = replaying.open(LOOSE)
    validations = [validation.launches for validation in session.loop.validation.chains]
    replaying.run(session)
    steps = [(n, KEPT if n > launches[0] else REPLAYED) for launches in validations for n in launches]
    assert len(validations) == 3 and all(len(launches) >= 2 for launches in validations)
    assert replaying.seen[: len(steps)] == steps
    sample = replaying.seen[len(steps) :]
    assert {(launches[-1], REPLAYED) for launches in validations} <= set(sample)
    assert len(sample) == len(set(sample)) and all(state == REPLAYED for _, state in sample)


def test_what_replay_misses_is_in_the_half_width_and_the_first_line(host):
    exact = ReplayingHost(host).run(ReplayingHost(host).open(LOOSE + "\nresume: never"))
    biased = ReplayingHost(host, bias=0.02)
    summary = biased.run(biased.open(LOOSE + "\nresume: never"))
    assert exact["bound_scope"] == summary["bound_scope"] == "total error"
    assert exact["replay_errors"]["cycles"]["estimate"] == 0.0
    unsimulated = 1.0 - 3 / exact["simulated"]
    expected = 2.776 * EXPECTED_SPREAD * (unsimulated * 2 / 4 / 3) ** 0.5
    assert exact["replay_errors"]["cycles"]["half_width"] == pytest.approx(expected, rel=1e-2)
    assert summary["replay_errors"]["cycles"]["estimate"] == pytest.approx(0.02, abs=5e-4)
    assert any("total within +- " in line and "error budget met" in line for line in host.log)


def test_an_error_of_replay_above_the_budget_is_not_called_met(host):
    replaying = ReplayingHost(host, bias=0.05)
    summary = replaying.run(replaying.open("policy: random\nerror_budget: {relative_error: 0.03}"))
    assert not summary["met"] and summary["relative_half_width"] > 0.05 - 1e-3
    assert not any("error budget met" in line for line in host.log)
    assert any("total within +- " in line and "error budget not met" in line for line in host.log)


def test_validations_count_as_simulated_cycles(host):
    replaying = ReplayingHost(host)
    summary = replaying.run(replaying.open(LOOSE))
    cycles = sum(host.cycles[index] for index, _ in replaying.seen)
    assert summary["cycle_speedup"] == pytest.approx(summary["estimate"] / cycles)


@pytest.mark.parametrize(
    ("yaml", "info", "reason"),
    [
        (OPEN + "\nreplay: {validation: 0}", {}, "replay.validation is 0"),
        (LOOSE, {"state_lines": 0}, "this simulator does not restore the state between launches"),
        (
            LOOSE,
            {"predictor": (14, 2)},
            "branch predictors learn during the whole run, which validation launches cannot show",
        ),
        (OPEN + "\nreplay: {validation: 10}", {}, "the list is too short for validation launches"),
        (
            LOOSE,
            {"not_replayed": "-network_mode 1"},
            "with -network_mode 1 a full run keeps state that is not replayed",
        ),
    ],
)
def test_without_validations_the_first_line_says_why_the_bound_is_on_sampling_error_only(host, yaml, info, reason):
    replaying = ReplayingHost(host)
    summary = replaying.run(replaying.open(yaml, **info))
    assert summary["bound_scope"] == "sampling error" and summary["bound_scope_reason"] == reason
    assert any(f"bound on sampling error only ({reason})" in line for line in host.log)
    assert any(reason in text for text in summary["not_covered"])


def test_a_validation_that_fails_is_left_out(host):
    replaying = ReplayingHost(host)
    session = replaying.open(LOOSE)
    first = session.loop.validation.chains[0].launches[1]
    for _ in range(2):
        replaying.step(session, session.next(0, -1)[1], fails=(first,))
    summary = replaying.run(session)
    assert summary["bound_scope"] == "total error" and not summary["degraded"]


def test_three_failed_validations_of_three_leave_the_error_unknown(host):
    replaying = ReplayingHost(host)
    session = replaying.open(LOOSE)
    fails = {validation.launches[0] for validation in session.loop.validation.chains}
    for _ in range(3):
        replaying.step(session, session.next(0, -1)[1], fails=fails)
    summary = replaying.run(session)
    assert summary["bound_scope_reason"] == "too few validation launches could be simulated"


def test_a_launch_that_is_not_the_next_of_its_validation_is_skipped_and_cannot_have_a_result(host):
    replaying = ReplayingHost(host)
    session = replaying.open(LOOSE)
    launch = session.next(0, -1)[1]
    assert session.on_launch(0, launch + 1)[0] == 1
    with pytest.raises(HostError, match="not in flight"):
        session.on_complete(0, launch, False, 10, 10, ("reads",), (0.0,))
    with pytest.raises(HostError, match="the list has 200 launches"):
        session.on_launch(0, LAUNCHES)


def test_a_full_run_keeps_the_state_and_says_where_it_was_resumed(host):
    replaying = ReplayingHost(host)
    yaml = "policy: all"
    session = replaying.open(yaml)
    for _ in range(3):
        replaying.step(session, session.next(0, -1 if not replaying.seen else replaying.seen[-1][0])[1])
    session.on_launch(0, 3)
    session.journal.close()
    summary = replaying.run(replaying.open(yaml))
    assert [state for _, state in replaying.seen] == [KEPT, KEPT, KEPT, REPLAYED, *[KEPT] * (LAUNCHES - 4)]
    assert summary["restarts"] == [3] and "resumed at launch unit 3, with replayed state" in summary["warnings"][0]
    text = verdict(load_run(host.folder / "run.kpjournal").ended())
    assert text.endswith("; every launch was simulated; the run was resumed once, which may move the total")
    assert load_run(host.folder / "run.kpjournal").validations == []


def test_an_uninterrupted_full_run_warns_of_nothing(host):
    replaying = ReplayingHost(host)
    summary = replaying.run(replaying.open("policy: all"))
    assert summary["restarts"] == [] and summary["bound_scope"] == "exact" and not summary["warnings"]


def test_the_journal_holds_the_results_of_a_validation_and_the_sample_the_other_one(host):
    replaying = ReplayingHost(host, bias=0.01)
    session = replaying.open(LOOSE)
    lengths = [len(validation.launches) for validation in session.loop.validation.chains]
    last = {validation.launches[-1] for validation in session.loop.validation.chains}
    replaying.run(session)
    run = load_run(host.folder / "run.kpjournal")
    states = [(record.validation, record.state) for record in run.validations]
    assert states == [(i, "kept" if n else "replayed") for i, length in enumerate(lengths) for n in range(length)]
    assert np.isfinite([record.counters["cycles"] for record in run.validations]).all()
    assert last <= {record.launch for record in run.results.values()}


# ---- places ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.just(0.0) | st.floats(0.01, 100.0), st.floats(0.0, 0.999)), min_size=1, max_size=40))
def test_every_place_has_its_turn_once_and_those_without_a_chance_come_last(drawn):
    sizes, numbers = np.array(drawn).T
    chances = sizes / max(sizes.sum(), 1.0)
    with np.errstate(all="raise", under="ignore"):
        order = successive(chances, numbers)
    assert sorted(order) == list(range(len(sizes)))
    assert (chances[order[np.count_nonzero(chances) :]] == 0.0).all()


def test_a_place_is_the_first_as_often_as_its_chance_says_and_the_second_as_among_those_left():
    chances = np.array([0.1, 0.2, 0.3, 0.4])
    orders = np.array([successive(chances, u) for u in np.random.default_rng(2).random((20_000, 4))])
    assert np.bincount(orders[:, 0], minlength=4) / 20_000 == pytest.approx(chances, abs=0.01)
    second = orders[orders[:, 0] == 3, 1]
    assert np.bincount(second, minlength=4)[:3] / len(second) == pytest.approx(chances[:3] / 0.6, abs=0.02)


def test_a_chain_goes_back_to_what_left_most_of_what_its_last_launch_touches_where_that_is_worth_its_cost():
    cost = np.array([1000.0, *[1.0] * 10, 5.0])
    late, none, dear = [0.1] * 7 + [1.0] * 3, [0.0] * 10, [0.2] * 10 + [0.6]
    assert [depth(cost, 11, np.array(shares))[0] for shares in (late, none, dear)] == [8, 1, 1]
    assert depth(cost, 11, np.array(late))[1] == pytest.approx(1.0 / (5.0 + 8.0) ** 0.5)


def test_a_launch_that_is_not_as_predicted_has_half_of_the_probability_and_its_share_of_the_rest():
    design = AssistedDesign({"cycles": np.full(9, 100.0)}, np.zeros(9, dtype=int), np.linspace(0.0, 0.9, 9))
    drawn, engine = np.arange(1, 9), Engine(design, ErrorBudget(0.05))
    for surprises, first in ((np.eye(8)[4], 1 / 2 + 1 / 16), (np.zeros(8), 1 / 8), (np.full(8, 0.1), 1 / 8)):
        chains = choose(3, design, engine, drawn, 8, lambda unit, most: np.ones(1), math.inf, surprises)
        chances = {chain.launches[-1]: chain.chance for chain in chains}
        assert chances[5] == pytest.approx(first) and sum(chances.values()) == pytest.approx(1.0)


# ---- as many as the budget needs ------------------------------------------------------------------------------------


class UnevenHost(ReplayingHost):
    """A host whose every other launch takes `bias` more from replayed state, the others as much less."""

    def error(self, index):
        return self.bias * (1 if index % 2 else -1)


@pytest.mark.parametrize(("budget", "count"), [(0.05, 1), (0.02, 1), (0.01, 2), (0.005, 2)])
def test_a_budget_begins_with_as_many_validations_as_it_needs_where_they_agree(host, budget, count):
    session = ReplayingHost(host).open(f"policy: random\nerror_budget: {{relative_error: {budget}}}")
    assert session.loop.validation.count == count


def test_validations_that_disagree_are_followed_by_further_ones_before_the_look(host):
    uneven = UnevenHost(host, bias=0.03)
    summary = uneven.run(uneven.open("policy: random\nerror_budget: {relative_error: 0.05}"))
    run = load_run(host.folder / "run.kpjournal")
    types = [record.type if getattr(record, "validation", None) is None else "validation" for record in run.records]
    first, look = types.index("further_validations"), types.index("look")
    assert types[:first].count("validation") == 2 and types[first:look].count("validation") >= 2 and "pass" in types[:first]
    made = [record.validations for record in run.of(FurtherValidationsRecord)]
    assert made == sorted(set(made)) and made[-1] <= 12
    assert summary["bound_scope"] == "total error" and abs(summary["replay_errors"]["cycles"]["estimate"]) < 0.05


def test_a_run_killed_anywhere_also_in_its_further_validations_ends_with_the_same_summary(host):
    uneven = UnevenHost(host, bias=0.03)
    yaml = "policy: random\nerror_budget: {relative_error: 0.05}"
    whole = uneven.run(uneven.open(yaml))
    journal = host.folder / "run.kpjournal"
    data, chance = journal.read_bytes(), random.Random(5)
    begin = data.index(b'"type":"further_validations"')
    end = data.index(b'"type":"look"', begin)
    anywhere = chance.sample(range(data.index(b"\n") + 1, len(data)), 15)
    for point in [*anywhere, *chance.sample(range(begin - 200, end + 200), 15)]:
        journal.write_bytes(data[:point])
        assert uneven.run(uneven.open(yaml)) == whole


def test_a_further_validation_that_fails_is_left_out(host):
    uneven = UnevenHost(host, bias=0.03)
    session = uneven.open("policy: random\nerror_budget: {relative_error: 0.05}")
    later = {validation.launches[0] for validation in session.loop.validation.chains[1:]}
    validations = session.loop.validation
    last = -1
    while (status := session.next(0, last))[0] != DONE:
        last = status[1]
        uneven.step(session, last, fails=later if session.loop.orders is validations else ())
    session.finish()
    assert load_run(host.folder / "run.kpjournal").ended().bound_scope == "total error"
