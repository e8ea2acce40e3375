"""Training repeats under its seed, goes on where it stopped, and learns."""

from dataclasses import replace

import pytest
import torch
from small_graphs import random_graph

from kernelpoint.encoder.checkpoint import read_checkpoint
from kernelpoint.errors import ConfigError, PlanError
from kernelpoint_lab.training.model import load_encoder
from kernelpoint_lab.training.trainer import Trainer, TrainingConfig, read_log, write_log

CONFIG = TrainingConfig(epochs=4, batch_size=6, seed=3)


def weights(trainer):
    return {name: value.detach().clone() for name, value in trainer.parameters.items()}


def same(a, b):
    return all(torch.equal(a[name], b[name]) for name in a)


def test_the_same_seed_gives_the_same_encoder(graphs):
    first, second, other = (Trainer(graphs, replace(CONFIG, seed=seed)) for seed in (3, 3, 4))
    for trainer in (first, second, other):
        list(trainer.epochs())
    assert same(weights(first), weights(second)) and not same(weights(first), weights(other))


def test_training_that_was_interrupted_ends_like_one_that_was_not(graphs, tmp_path):
    whole = Trainer(graphs, CONFIG)
    records = list(whole.epochs())
    half = Trainer(graphs, CONFIG)
    half.run_epoch()
    half.run_epoch()
    half.save_state(tmp_path / "a.state")
    rest = Trainer(graphs, CONFIG)
    rest.load_state(tmp_path / "a.state")
    later = list(rest.epochs())
    assert [record.epoch for record in later] == [3, 4]
    assert [r.loss for r in later] == [r.loss for r in records[2:]] and same(weights(whole), weights(rest))


@pytest.mark.parametrize(
    ("change", "count", "reason"),
    [({"seed": 4}, 12, "config"), ({"epochs": 5}, 12, "config"), ({"batch_size": 4}, 12, "config"),
     ({}, 11, "graphs is 12, this run has 11")],
)  # fmt: skip
def test_a_state_of_another_run_or_of_other_data_is_refused(graphs, tmp_path, change, count, reason):
    Trainer(graphs, CONFIG).save_state(tmp_path / "a.state")
    with pytest.raises(PlanError, match=f"cannot be taken up: its {reason}"):
        Trainer(graphs[:count], replace(CONFIG, **change)).load_state(tmp_path / "a.state")


def test_the_loss_falls_and_views_come_together():
    graphs = [random_graph(seed, warps=4, nodes=30) for seed in range(24)]
    records = list(Trainer(graphs, replace(CONFIG, epochs=12, batch_size=24, dropout=0.0)).epochs())
    assert records[-1].loss < records[0].loss / 2
    assert all(record.memory_mib > 0 and record.seconds > 0 for record in records)


def test_a_saved_encoder_is_the_trained_one(graphs, tmp_path):
    trainer = Trainer(graphs, CONFIG)
    trainer.run_epoch()
    trainer.save_encoder(tmp_path / "e.safetensors", {"data": {"streams": 12}})
    checkpoint = read_checkpoint(tmp_path / "e.safetensors")
    loaded = load_encoder(checkpoint).state_dict()
    trained = trainer.encoder.state_dict()
    assert all(torch.equal(loaded[name], value.half().double()) for name, value in trained.items())
    assert checkpoint.card["config"]["seed"] == 3 and checkpoint.card["data"] == {"streams": 12}


def test_the_log_reads_back_as_it_was_written(graphs, tmp_path):
    records = list(Trainer(graphs, CONFIG).epochs())
    write_log(tmp_path / "log.csv", records)
    again = read_log(tmp_path / "log.csv")
    assert [r.epoch for r in again] == [1, 2, 3, 4]
    assert [r.loss for r in again] == pytest.approx([r.loss for r in records], rel=1e-5)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("epochs", 0),
        ("batch_size", 1),
        ("max_nodes", 0),
        ("dropout", 1.0),
        ("learning_rate", 0),
        ("temperature", -1),
        ("threads", 0),
        ("device", "zz"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(word, value):
    with pytest.raises(ConfigError, match=word):
        replace(CONFIG, **{word: value})


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_cuda_is_refused_where_there_is_none():
    with pytest.raises(ConfigError, match="no CUDA device"):
        replace(CONFIG, device="cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_training_on_cuda_lowers_the_loss(graphs):
    records = list(Trainer(graphs, replace(CONFIG, device="cuda", epochs=8)).epochs())
    assert records[-1].loss < records[0].loss


def test_one_graph_is_too_few(graphs):
    with pytest.raises(ConfigError, match="at least 2"):
        Trainer(graphs[:1], CONFIG)
