"""The training workload: what repeats, what differs."""

from itertools import islice

import pytest

from kernelpoint_lab.synth.launch import Launch
from kernelpoint_lab.synth.memory import Memory
from kernelpoint_lab.synth.workloads.training_step import ACCUMULATED, BATCHES, SHAPES, Model, sequence


@pytest.fixture(scope="module")
def model():
    return Model(SHAPES["small"], Memory(), 0)


def launches(count):
    return list(islice((x for x in sequence(SHAPES["small"], 0) if isinstance(x, Launch)), count))


def test_epochs_repeat_their_batches_in_another_order():
    batches = [launch.key for launch in launches(1200) if launch.family == "gather"]
    assert len(set(batches)) == BATCHES
    assert batches[:BATCHES] != batches[BATCHES : 2 * BATCHES]


def test_the_optimiser_updates_every_matrix_once_for_several_batches(model):
    matrices = 2 * SHAPES["small"].layers + 1
    assert len(model.optimise) == 3 * matrices
    first = launches(ACCUMULATED * 2 * len(model.forward(0)) + len(model.backward(0)) * ACCUMULATED)
    norms = [launch for launch in first if launch.kernel.startswith("dot")]
    assert len(norms) >= matrices and len({launch.key for launch in norms}) == matrices


def test_batches_differ_in_length_and_a_longer_one_takes_more_ctas(model):
    lengths = [len(model.tokens(batch)) for batch in range(BATCHES)]
    assert len(set(lengths)) > 1
    first_of = {length: model.forward(lengths.index(length))[0].ctas for length in set(lengths)}
    assert [first_of[length] for length in sorted(first_of)] == sorted(set(first_of.values()))
