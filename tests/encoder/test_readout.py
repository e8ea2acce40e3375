"""The input readout learns to put launches near each other that behave alike, and nothing else of the encoder changes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_graphs import random_graph

from kernelpoint.graphs import SCHEMA
from kernelpoint.randomness import generator
from kernelpoint_lab.training import readout
from kernelpoint_lab.training.model import TraceEncoder
from kernelpoint_lab.training.observations import Observations
from kernelpoint_lab.training.readout import fit_readout

ACCESS = SCHEMA.column("pseudo", "log_sectors")


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    return TraceEncoder().eval()


def launches(count, seed=0):
    """Graphs that differ in many things, of which the sectors of their accesses alone decide what is observed."""
    random = generator(seed, "test launches")
    graphs, answers = [], []
    for number in range(count):
        graph = random_graph(1000 * seed + number, warps=2, nodes=30)
        answer = random.random()
        features = graph.features.copy()
        features[graph.kinds == SCHEMA.node_kinds.index("pseudo"), ACCESS] = 4 * answer
        graphs.append(replace(graph, features=features))
        answers.append(answer)
    targets = np.float32(np.array(answers) - np.mean(answers))[:, None]
    numbers, work = np.arange(count), np.zeros((count, 4), np.float32)
    return graphs, Observations(numbers, numbers, np.full(count, -1), work, targets)


def neighbour_error(encoder, graphs, observations):
    from kernelpoint_lab.training.encode import embed_graphs

    rows = np.array(list(embed_graphs(encoder, graphs)))
    distances = np.square(rows[:, None] - rows[None]).sum(2) + np.diag(np.full(len(rows), np.inf))
    nearest = observations.targets[np.argsort(distances, 1)[:, :3], 0].mean(1)
    return float(np.abs(nearest - observations.targets[:, 0]).mean())


def test_neighbours_predict_launches_that_were_not_seen_better_afterwards(encoder, monkeypatch):
    monkeypatch.setattr(readout, "STEPS", 60)
    unseen = launches(40, seed=1)
    before = neighbour_error(encoder, *unseen)
    fit_readout(encoder, *launches(80), 0.1)
    assert neighbour_error(encoder, *unseen) < 0.8 * before


def test_nothing_but_the_readout_changes_and_the_same_seed_repeats(encoder, monkeypatch):
    monkeypatch.setattr(readout, "STEPS", 20)
    graphs, observations = launches(20)
    start = {name: value.clone() for name, value in encoder.state_dict().items()}
    steps = []
    first = fit_readout(
        encoder, graphs, observations, 0.1, seed=1, progress=lambda done, total: steps.append((done, total))
    )
    fitted = {name: value.clone() for name, value in encoder.state_dict().items()}
    changed = {name for name in start if not torch.equal(start[name], fitted[name])}
    assert changed == {"readout.opcodes.weight", "readout.accesses.weight"} and steps[-1] == (20, 20)
    encoder.load_state_dict(start)
    assert fit_readout(encoder, graphs, observations, 0.1, seed=1) == first
    assert all(torch.equal(fitted[name], value) for name, value in encoder.state_dict().items())


def test_kin_come_nearer_and_launches_whose_kin_are_not_known_do_not_count(encoder, monkeypatch):
    monkeypatch.setattr(readout, "STEPS", 60)
    monkeypatch.setattr(readout, "KIN", 3.0)
    graphs, observations = launches(24)
    families = np.arange(24) % 2
    told = replace(observations, families=families, targets=np.zeros_like(observations.targets))
    distances = []
    for taught in (replace(told, families=np.full(24, -1)), told):
        torch.manual_seed(0)
        fitted = TraceEncoder()
        fit_readout(fitted, graphs, taught, 0.1)
        distances.append(kin_distance(fitted, graphs, families))
    assert distances[1] < 0.9 * distances[0]


def kin_distance(encoder, graphs, families):
    """Mean squared distance of kin over that of all pairs."""
    from kernelpoint_lab.training.encode import embed_graphs

    rows = np.array(list(embed_graphs(encoder, graphs)))
    squares = np.square(rows[:, None] - rows[None]).sum(2)
    return squares[families[:, None] == families[None]].mean() / squares.mean()


def test_the_loss_on_kin_is_that_of_a_slow_oracle():
    random = generator(0, "test kin")
    distances = np.square(random.normal(size=(9, 9)))
    families, names = np.array([0, 0, 0, 1, 1, -1, -1, 2, 0]), np.array([0, 0, 1, 2, 3, 4, 5, 6, 7])
    losses = []
    for i in range(9):
        others = [j for j in range(9) if names[j] != names[i]]
        kin = [j for j in others if families[i] >= 0 and families[j] == families[i]]
        if kin:
            near = {j: np.exp(-distances[i, j] / readout.KIN_TEMPERATURE) for j in others}
            losses.append(-np.log(sum(near[j] for j in kin) / sum(near.values()) + readout.TINY))
    found = readout.kin_loss(*(torch.from_numpy(x) for x in (distances, families, names)))
    assert len(losses) == 6 and float(found) == pytest.approx(np.mean(losses), rel=1e-6)
    alone = readout.kin_loss(*(torch.from_numpy(x) for x in (distances, np.full(9, -1), names)))
    assert float(alone) == 0
