"""Observations of the fast model, and the head on them: it teaches the layers and is no part of a checkpoint."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_graphs import random_graph

from kernelpoint import _native
from kernelpoint.encoder.checkpoint import LAYER_WIDTHS, read_checkpoint, read_tensors
from kernelpoint.errors import ConfigError
from kernelpoint.fast_model import shipped
from kernelpoint.randomness import generator
from kernelpoint.traces import ArtefactCache
from kernelpoint_lab.synth.families.programs import random_program
from kernelpoint_lab.synth.lists import write_list
from kernelpoint_lab.synth.memory import Memory
from kernelpoint_lab.training.config import TrainingConfig
from kernelpoint_lab.training.data import training_data
from kernelpoint_lab.training.heads import ObservationLoss
from kernelpoint_lab.training.observations import (
    OBSERVED,
    STALLS,
    VARIANTS,
    WEIGHT,
    Observations,
    observe,
    observed,
    variant,
)
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


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    write_list([random_program(Memory(), n, 4, 64, 1) for n in range(8)], folder, 8, {"name": "test", "seed": 0})
    data = training_data([str(folder / "kernelslist.g")], max_nodes=300, cache=ArtefactCache(folder))
    assert len(data.graphs) == 8
    return data


def test_a_variant_changes_its_keys_alone():
    changed = variant({"l2_size": 0.5}).values
    before = shipped("v100").values
    assert changed["l2_size"] == before["l2_size"] / 2
    assert {k: v for k, v in changed.items() if k != "l2_size"} == {k: v for k, v in before.items() if k != "l2_size"}


def test_observations_have_means_of_zero_and_known_spreads_and_repeat(programs):
    calls = []
    families = dict.fromkeys(range(8), -1)
    first, again = (
        observe(programs, families, lambda done, total: calls.append((done, total))),
        observe(programs, families),
    )
    assert first.targets.shape == (8, 1 + len(OBSERVED) * (1 + len(VARIANTS))) and first.targets.dtype == np.float32
    assert np.array_equal(first.targets, again.targets) and np.array_equal(first.work, again.work)
    spreads = first.targets.std(0)[1:]
    assert np.allclose(first.targets.mean(0), 0, atol=1e-5)
    for part in (spreads[: len(OBSERVED)], spreads[len(OBSERVED) :]):
        varying = part[part > 1e-4]
        assert np.isclose(varying.sum(), WEIGHT, atol=1e-3) and np.allclose(varying, varying[0], atol=1e-4)
    assert calls[-1] == (8, 8)


def test_only_chosen_graphs_are_observed_and_kin_are_told(programs):
    chosen = observe(programs, {6: 2, 1: -1, 3: 2})
    assert chosen.rows.tolist() == [6, 1, 3] and chosen.families.tolist() == [2, -1, 2]
    assert len(set(chosen.names.tolist())) == 3 and chosen.targets.shape[0] == chosen.work.shape[0] == 3
    assert np.allclose(chosen.work, np.log2(1 + programs.work[[6, 1, 3]]))


def test_what_is_observed_is_what_the_fast_model_counts(programs):
    gpu = shipped("v100")
    run = _native.fast_model.alone(programs.paths[0], gpu)
    values = dict(zip(OBSERVED, observed(run, gpu.values), strict=True))
    assert values["IPC"] == pytest.approx(np.log2(run["warp_instructions"] / run["cycles"]))
    assert 0 < sum(values[name] for name in STALLS) < 1 and 0 <= values["L1 hit rate"] <= 1
    busy = run["warp_instructions"] / (1 - sum(values[name] for name in STALLS))
    assert values["memory_stalls"] == pytest.approx(run["memory_stalls"] / busy)
    beyond = run["cycles"] - gpu.values["launch_latency"]
    assert 2 ** values["cycles beyond latency"] * run["instructions"] == pytest.approx(beyond * run["ctas"])


def test_more_latency_costs_cycles_and_stalls_where_memory_is_read(programs):
    slow = variant(VARIANTS["twice the memory latency"])
    for path in programs.paths:
        base, more = (_native.fast_model.alone(path, gpu) for gpu in (shipped("v100"), slow))
        assert more["cycles"] >= base["cycles"] and more["memory_stalls"] >= base["memory_stalls"]
        assert base["l1_accesses"] == 0 or more["memory_stalls"] > base["memory_stalls"]
