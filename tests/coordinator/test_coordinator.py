"""A run spread over workers is the run of one process, whatever the order in which launches end and whoever dies."""

import json
import time
from dataclasses import replace

import pytest
from gpu import WORK, FakePool, Gpu
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelpoint import __version__
from kernelpoint.config import parse_config
from kernelpoint.coordinator.run import check
from kernelpoint.coordinator.simulations import Simulations
from kernelpoint.coordinator.task import Report, keep, prepare_folder, read_all
from kernelpoint.errors import ConfigError, SessionError
from kernelpoint.journal import Outcome
from kernelpoint.session.orders import Order, Planned
from kernelpoint.session.worker import Hello

RANDOM = "policy: random\nerror_budget: {relative_error: 0.002}"
FURTHER = "policy: random\nerror_budget: {relative_error: 0.03}"  # launches are 2 % off: one validation launch is not enough
STARTED = 1  # REPLAYED


@pytest.mark.parametrize("yaml", [RANDOM, FURTHER, RANDOM + "\nreplay: {validation: 0}"])
@pytest.mark.parametrize("workers", [1, 2, 4, 16])
def test_the_journal_is_that_of_one_process_to_the_byte(gpu, yaml, workers):
    alone = gpu.alone(yaml)
    assert b'"validation"' in alone or "validation: 0" in yaml
    assert b'"further_validations"' in alone or yaml is not FURTHER
    assert gpu.spread(yaml, FakePool(gpu, workers)) == alone


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), workers=st.integers(1, 40), killed=st.integers(0, 100))
def test_neither_the_order_in_which_launches_end_nor_killed_simulators_change_anything(gpu, seed, workers, killed):
    assert gpu.spread(RANDOM, FakePool(gpu, workers, seed, killed)) == gpu.alone(RANDOM)


def test_every_launch_is_simulated_once_where_nobody_dies(gpu):
    gpu.spread(RANDOM + "\nreplay: {validation: 0}", FakePool(gpu))
    assert len(set(gpu.simulated)) == len(gpu.simulated) > 9


def test_the_first_draws_do_not_wait_for_validations(gpu):
    session = gpu.open(RANDOM)
    handed_out = {step for plan in session.planned() for step in plan.chain}
    gpu.end(session)
    journal = gpu.spread(RANDOM, FakePool(gpu)).decode().splitlines()
    first = [json.loads(line) for line in journal if '"type":"outcome"' in line and '"state":' not in line]
    first = [result for result in first if not result["pass_index"]]
    assert len(first) > 9
    assert {result["launch"] for result in first} <= {step.launch for step in handed_out if step.state == STARTED}


def test_chains_that_go_on_from_each_other_stay_in_one_simulator(gpu):
    gpu.spread(RANDOM, FakePool(gpu, 4))
    for before, step in zip(gpu.simulated, gpu.simulated[1:], strict=False):
        assert step.state == STARTED or before.launch == step.launch - 1


def test_a_launch_that_ends_its_simulator_twice_is_named_with_the_last_lines_and_handled_by_the_failure_rule(gpu):
    yaml = "policy: random\nerror_budget: {relative_error: 0.0001}\nreplay: {validation: 0}"
    pool = FakePool(gpu, crashing=[17])
    journal = gpu.spread(yaml, pool).decode()
    assert journal.count('"launch":17,') == 2  # decided and aborted, in one pass
    assert ': it was ended by SIGSEGV again"' in journal and '"lost":[17]' in journal
    messages = [line for line in pool.said if "the last\n  lines" in line]
    assert len(messages) == 1 and "launch 17: the simulator on here was ended by SIGSEGV, 2 times" in messages[0]
    assert journal.count('{"type":"outcome"') == gpu.launches, "the failure is an outcome"


def test_a_launch_whose_simulator_others_end_is_tried_more_often_and_not_for_ever(gpu):
    pool = FakePool(gpu, crashing=[17], by_others=True)
    gpu.spread("policy: random\nerror_budget: {relative_error: 0.0001}\nreplay: {validation: 0}", pool)
    assert any(", 5 times" in line for line in pool.said)


class Hanging(FakePool):
    """The chain that is begun first never ends; its copy does, and the others."""

    def __post_init__(self):
        super().__post_init__()
        self.hanging, self.waited = [], 0

    def begin(self, work, chain):
        if not self.hanging:
            self.hanging.append(chain)
            return 0
        return super().begin(work, chain)

    def next_report(self, seconds=None):
        if not self._waiting:
            assert seconds is not None, "nothing else will ever end"
            time.sleep(seconds)
            self.waited += 1
            return None
        handle, report = super().next_report()
        return handle, replace(report, outcomes=tuple(replace(outcome, seconds=0.001) for outcome in report.outcomes))


def test_a_chain_that_takes_three_times_its_forecast_is_begun_on_a_free_worker_too_and_the_first_result_counts(
    gpu, monkeypatch
):
    monkeypatch.setattr("kernelpoint.coordinator.simulations.LEAST_SECONDS", 0.01)
    pool = Hanging(gpu, workers=2)
    assert gpu.spread(RANDOM, pool) == gpu.alone(RANDOM)
    assert pool.waited and pool.hanging


def test_a_machine_that_is_not_fit_ends_the_run_with_its_name_and_the_reason(gpu):
    pool = FakePool(gpu)
    pool.next_report = lambda seconds: (1, Report((), refusal="another build of the simulator", node="n7"))
    with pytest.raises(SessionError, match="n7: another build of the simulator; correct that and start the same"):
        gpu.spread(RANDOM, pool)


def test_outcomes_of_a_coordinator_that_died_are_not_simulated_again(gpu):
    first = gpu.spread(RANDOM, FakePool(gpu))
    outcomes = {(step,): (gpu.simulate(step),) for step in list(gpu.simulated)}
    gpu.simulated.clear()
    assert gpu.spread(RANDOM, FakePool(gpu), outcomes) == first
    assert len(gpu.simulated) == 10  # five validation launches of two launches: chains that `known` does not have


CHAIN = (Order(0, 3, 1), Order(0, 4, 0))
OUTCOMES = (
    Outcome(0, 3, counters={"cycles": 0.1}),
    Outcome(0, 4, counters={"cycles": 7.0}, stopped=True, points=((1, 2, 3, 4, 5),)),
)


OTHER = (Order(0, 9, 1),)


def kept(folder):
    """The file of this worker, after it kept two chains."""
    keep(folder, CHAIN, OUTCOMES)
    keep(folder, OTHER, OUTCOMES[:1])
    (path,) = folder.glob("*.jsonl")
    return path


def test_outcomes_on_disk_survive_a_kill_at_any_byte(tmp_path):
    path = kept(tmp_path)
    content = path.read_bytes()
    first = content.index(b"\n", 1)
    for size in range(len(content)):
        path.write_bytes(content[:size])
        complete = (size >= first) + (size >= len(content) - 1)  # a line is whole without its newline
        assert read_all(tmp_path) == dict([(CHAIN, OUTCOMES), (OTHER, OUTCOMES[:1])][:complete])
    path.write_bytes(content[: first - 3])
    keep(tmp_path, OTHER, OUTCOMES[:1])
    assert read_all(tmp_path) == {OTHER: OUTCOMES[:1]}


def test_a_flipped_bit_of_the_outcomes_gives_the_outcomes_or_none(tmp_path):
    path, lost = kept(tmp_path), 0
    whole, content = read_all(tmp_path), path.read_bytes()
    for bit in range(0, 8 * len(content), 5):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        read = read_all(tmp_path)
        assert read.items() <= whole.items()
        lost += len(read) < len(whole)
    assert lost > 7 * len(content) // 5


def test_failed_launches_are_not_kept_on_disk(tmp_path):
    keep(tmp_path, CHAIN, (OUTCOMES[0], Outcome(0, 4, reason="no trace")))
    assert not list(tmp_path.iterdir())


def test_outcomes_of_another_run_of_the_same_name_are_not_taken(tmp_path):
    journal = tmp_path / "run.kpjournal"
    journal.write_bytes(b"one run\n")
    first = prepare_folder(journal)
    (first / "x.jsonl").write_text("")
    assert prepare_folder(journal) == first and (first / "x.jsonl").exists()
    journal.write_bytes(b"another run\n")
    assert prepare_folder(journal) != first and not first.exists()


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"executes": True, "state_lines": 64}, "executes even skipped launches"),
        ({}, "cannot restore the state"),
        ({"concurrent": True, "state_lines": 64}, "runs several applications or launches"),
    ],
)
def test_a_simulator_whose_launches_depend_on_each_other_is_refused(more, reason):
    host = {"simulator": "one", "list_paths": ["kernelslist.g"], "launch_counts": [9], "residency": [0, 0, 0, 0, 0]}
    config = parse_config({"version": 1, "policy": "kernelpoint"}, "keys")
    with pytest.raises(ConfigError, match=reason):
        check(config, Hello(kernelpoint=__version__, pid=1, host=host | more))


def test_a_chain_that_takes_three_times_its_forecast_is_told_once_although_every_worker_is_busy(monkeypatch, gpu):

    class Slow(FakePool):
        """Launch 7 ends only after it was told to be overdue."""

        def next_report(self, seconds):
            ready = [handle for handle, chain in self._waiting.items() if chain[0].launch != 7]
            if not ready and not any("launch 7: " in line for line in self.said):
                assert seconds is not None, "it waits without end"
                time.sleep(seconds + 0.001)
                return None
            handle = (ready or list(self._waiting))[0]
            return handle, Report((gpu.simulate(self._waiting.pop(handle)[0]),))

    monkeypatch.setattr("kernelpoint.coordinator.simulations.LEAST_REPORTED", 0.05)
    pool = Slow(gpu, workers=1)
    steps = [Order(0, launch, 1) for launch in (3, 7)]
    planned = [Planned((step,), 1.0) for step in steps]
    simulations = Simulations(pool, WORK, {}, lambda: planned, pool.said.append)
    simulations.seconds, simulations._done_cost = 0.001, 1.0
    for step in steps:
        simulations.outcome(step)
    messages = [line for line in pool.said if "no result after" in line]
    assert len(messages) == 1 and messages[0].startswith(
        "launch 7: no result after 0.1 s; the forecast is 0 s. Its simulator is slow"
    )


@given(costs=st.lists(st.floats(0.0, 1e6), min_size=1, max_size=300))
def test_every_chain_is_begun_once_and_the_most_expensive_first(costs):
    begun = []

    class Listening(FakePool):
        def begin(self, work, chain):
            begun.append(chain[0].launch)
            return super().begin(work, chain)

    planned = [Planned((Order(0, i, 1),), cost) for i, cost in enumerate(costs)]
    pool = Listening(Gpu(None))
    Simulations(pool, WORK, {}, lambda: planned, pool.said.append).outcome(Order(0, 0, 1))
    assert sorted(begun) == list(range(len(costs)))
    assert [costs[i] for i in begun] == sorted(costs, reverse=True)
