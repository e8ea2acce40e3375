"""Checkpoints: what does not fit is refused by name; the builtin one is small and comes with its card."""

import json
import re

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from kernelpoint.encoder import checkpoint, checkpoint_hash, read_checkpoint
from kernelpoint.encoder.checkpoint import checkpoint_path
from kernelpoint.errors import PlanError
from kernelpoint.graphs import SCHEMA, schema_hash
from kernelpoint_lab.training.model import load_encoder
from kernelpoint_lab.training.writing import save_whole, write_checkpoint


@pytest.fixture
def saved(tmp_path):
    builtin = read_checkpoint()
    path = tmp_path / "encoder.safetensors"
    write_checkpoint(path, load_file(builtin.path), builtin.settings, builtin.card)
    return path


def test_the_builtin_checkpoint_is_small_fits_and_loads():
    assert checkpoint_path("builtin").stat().st_size < 700_000
    load_encoder(read_checkpoint("builtin"))


def test_the_builtin_checkpoint_saw_no_test_stream_in_training():
    card = read_checkpoint().card
    assert card["data"]["shared_streams"] == 0


def test_the_card_names_the_lists_trained_on_and_those_held_out():
    card = read_checkpoint().card
    assert {"program", "gemm", "attention"} <= set(card["lists"])
    assert card["excluded"] == ["reduction", "layer_norm", "pooling", "histogram"]
    page = (checkpoint_path("builtin").parent / "README.md").read_text()
    assert all(f"`{family}`" in page for family in card["excluded"])
    assert f"| batch, epochs, data | not known | 48, {card['config']['epochs']}, below |" in page


def test_the_page_of_the_checkpoint_names_files_that_exist():
    folder = checkpoint_path("builtin").parent
    root = folder.parents[2]
    page = (folder / "README.md").read_text()
    names = re.findall(r"[\w./]+\.(?:py|csv|h|md)\b|builtin\.safetensors", page)
    assert {"builtin.log.csv", "lab/benchmarks/checkpoint.py", "plugin/native/graph/schema.h"} <= set(names)
    assert [name for name in names if not ((folder / name).exists() or (root / name).exists())] == []


def test_every_byte_counts_in_the_hash(saved):
    before = checkpoint_hash(saved)
    weights = load_file(saved)
    weights["norms.0.bias"][0] += 1e-3
    write_checkpoint(saved, weights, read_checkpoint(saved).settings, read_checkpoint(saved).card)
    assert checkpoint_hash(saved) != before


def test_a_checkpoint_of_another_schema_is_refused_by_name(saved, monkeypatch):
    monkeypatch.setattr(checkpoint, "schema_hash", lambda: "0123456789abcdef")
    schema = rf"{SCHEMA.version} \({schema_hash()}\)"
    with pytest.raises(PlanError, match=rf"{saved}: this checkpoint was made for graph schema {schema}.*0123456789abcdef"):
        read_checkpoint(saved)


def test_a_checkpoint_of_the_first_schema_is_refused_with_what_to_do(tmp_path):
    old = {"graph_schema": "0123456789abcdef", "encoder_version": "1", "settings": "{}", "card": "{}"}
    save_whole(tmp_path / "old.safetensors", {"x": np.zeros(1, np.float32)}, old)
    message = rf"graph schema 1 \(0123456789abcdef\).* has {SCHEMA.version} .*train again with `kernelpoint lab train`"
    with pytest.raises(PlanError, match=message):
        read_checkpoint(tmp_path / "old.safetensors")


def test_a_checkpoint_of_another_encoder_version_is_refused_by_name(saved, monkeypatch):
    monkeypatch.setattr(checkpoint, "ENCODER_VERSION", 99)
    with pytest.raises(PlanError, match="encoder version 3, this version of KernelPoint has 99"):
        read_checkpoint(saved)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(PlanError, match="no such checkpoint"):
        read_checkpoint(tmp_path / "no.safetensors")


def test_a_safetensors_file_of_something_else_is_refused(tmp_path):
    save_file({"x": np.zeros(3, np.float32)}, tmp_path / "e.safetensors")
    with pytest.raises(PlanError, match="its metadata has no graph schema"):
        read_checkpoint(tmp_path / "e.safetensors")


def test_tensors_of_the_wrong_shape_are_refused_by_name(saved):
    weights = load_file(saved)
    weights["norms.0.bias"] = np.zeros(7, np.float32)
    write_checkpoint(saved, weights, {"num_bases": 4, "dropout": 0.1}, {})
    message = re.escape("tensor 'norms.0.bias' has shape (7,), expected (128,)")
    with pytest.raises(PlanError, match=message):
        load_encoder(read_checkpoint(saved))


def test_a_missing_tensor_is_refused_by_name(saved):
    weights = load_file(saved)
    del weights["layers.1.comp"]
    write_checkpoint(saved, weights, {"num_bases": 4, "dropout": 0.1}, {})
    with pytest.raises(PlanError, match=r"layers\.1\.comp' has shape None"):
        load_encoder(read_checkpoint(saved))


def test_metadata_is_plain_text(saved):
    header = saved.read_bytes()[8:]
    metadata = json.JSONDecoder().raw_decode(header.decode("latin1"))[0]["__metadata__"]
    assert metadata["graph_schema"] == schema_hash() and json.loads(metadata["settings"])["num_bases"] == 4
