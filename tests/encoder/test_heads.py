"""The head on observations teaches the layers, leaves out what was not observed, and is no part of a checkpoint."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_graphs import random_graph

from kernelpoint.encoder.checkpoint import LAYER_WIDTHS, read_checkpoint, read_tensors
from kernelpoint.errors import ConfigError
from kernelpoint.randomness import generator
from kernelpoint_lab.training.config import TrainingConfig
from kernelpoint_lab.training.heads import ObservationLoss
from kernelpoint_lab.training.observations import Observations
from kernelpoint_lab.training.trainer import Trainer

CONFIG = TrainingConfig(epochs=1, batch_size=6, seed=3, observed=2.0)


@pytest.fixture
def observations():
    random = generator(0, "test heads")
    rows = np.array([1, 4, 5, 9])
    work, targets = (random.normal(size=(4, width)).astype(np.float32) for width in (4, 3))
    return Observations(rows, np.arange(4), np.full(4, -1), work, targets)


@pytest.fixture
def graphs():
    return [random_graph(seed, warps=2, nodes=20) for seed in range(12)]


def weights(trainer):
    return {name: value.detach().clone() for name, value in trainer.encoder.named_parameters()}


def test_only_observed_graphs_take_part(observations):
    torch.manual_seed(0)
    loss = ObservationLoss(observations, 12, 0.0)
    views = [torch.randn(3, LAYER_WIDTHS[-1], requires_grad=True) for _ in range(2)]
    loss(views, np.array([0, 4, 2])).backward()
    for view in views:
        assert view.grad[1].abs().sum() > 0 and view.grad[[0, 2]].abs().sum() == 0
    assert float(loss(views, np.array([0, 2, 3]))) == 0


def test_the_loss_is_small_where_the_head_reads_what_was_observed(observations):
    torch.manual_seed(0)
    loss = ObservationLoss(observations, 12, 0.0)
    views, chosen = [torch.randn(4, LAYER_WIDTHS[-1]) for _ in range(2)], observations.rows
    optimiser = torch.optim.Adam(loss.parameters(), lr=0.01)
    before = float(loss(views, chosen).detach())
    for _ in range(300):
        optimiser.zero_grad()
        found = loss(views, chosen)
        found.backward()
        optimiser.step()
    assert before > 0.2 and float(found.detach()) < 0.01


def test_observations_change_what_the_layers_learn_and_their_weight_can_be_none(graphs, observations):
    trained = []
    for config, seen in ((CONFIG, observations), (CONFIG, None), (replace(CONFIG, observed=0.0), observations)):
        trainer = Trainer(graphs, config, observations=seen)
        trainer.run_epoch()
        trained.append(weights(trainer))
    taught, alone, weightless = trained
    assert all(torch.equal(alone[name], weightless[name]) for name in alone)
    assert not torch.equal(taught["layers.0.weight"], alone["layers.0.weight"])


def test_the_head_is_dropped(graphs, observations, tmp_path):
    trainer = Trainer(graphs, CONFIG, observations=observations)
    trainer.save_encoder(tmp_path / "e.safetensors", {})
    assert set(read_tensors(read_checkpoint(tmp_path / "e.safetensors"))) == set(trainer.encoder.state_dict())


def test_a_weight_below_zero_is_refused():
    with pytest.raises(ConfigError, match="observed: -1 given"):
        TrainingConfig(observed=-1)
