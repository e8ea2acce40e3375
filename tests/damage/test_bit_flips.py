"""Single bits flipped anywhere in a file that holds numbers: found, or without effect; never another number.

FLIPS=20000 python -m pytest tests/damage/test_bit_flips.py     tries as many bits of each file, instead of a few
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from kernelpoint.encoder import read_checkpoint
from kernelpoint.encoder.checkpoint import write_checkpoint
from kernelpoint.errors import PlanError
from kernelpoint.estimation import Design
from kernelpoint.traces import ArtefactCache
from kernelpoint.workload.plan import Plan

FLIPS = int(os.environ.get("FLIPS", "150"))
KEYS = [f"{i:032x}" for i in range(12)]


def flips(path: Path, seed: int):
    """Copies of a file, each with one bit changed; the file is left as it was."""
    content = path.read_bytes()
    random = np.random.default_rng(seed)
    for bit in random.choice(8 * len(content), min(FLIPS, 8 * len(content)), replace=False).tolist():
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        yield bit
    path.write_bytes(content)


@pytest.fixture
def messages():
    return []


def test_a_flipped_bit_of_the_cache_is_found_or_means_nothing(tmp_path, messages):
    cache, random = ArtefactCache(tmp_path), np.random.default_rng(2)
    true = {kind: {key: random.bytes(size) for key in KEYS} for kind, size in (("scan", 200), ("embedding", 512))}
    for kind, artefacts in true.items():
        cache.put(kind, artefacts)
    cache.close()
    found = 0
    for bit in flips(cache.path, 1):
        damaged = ArtefactCache(tmp_path, messages.append)
        for kind, artefacts in true.items():
            for key, value in zip(KEYS, damaged.get(kind, KEYS), strict=True):
                assert value in (None, artefacts[key]), bit
        damaged.close()
        found += bool(messages)
        assert len(messages) <= 2, messages  # damage, said once; a new file that cannot be kept, said once
        messages.clear()
        for other in tmp_path.iterdir():
            if other != cache.path:
                other.unlink()
    assert found > 0


def plan() -> Plan:
    u = np.linspace(0, 0.9, 40)
    strata = np.repeat(np.arange(4), 10)
    design = Design(
        strata, np.full(4, 2), u, x=np.arange(40.0) + 1, clusters=np.arange(4), balanced=True, allowance=0.5
    )
    counts = np.arange(32).reshape(4, 8)
    return Plan(design, {"seed": 3}, {7: "unreadable"}, strata, list("abcd"), ["k"] * 4, None, counts)


def test_a_flipped_bit_of_a_plan_is_refused_with_one_message(tmp_path):
    path, whole = tmp_path / "run.kpplan", plan()
    whole.save(path)
    again = Plan.load(path, whole.design.u)
    assert again.origin == whole.origin and again.broken == whole.broken and again.design.balanced
    for bit in flips(path, 3):
        with pytest.raises(PlanError, match=r"checksum is wrong|does not end with a checksum") as caught:
            Plan.load(path, whole.design.u)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400, bit


def test_a_flipped_bit_of_a_checkpoint_is_refused_with_one_message(tmp_path):
    path = tmp_path / "encoder.safetensors"
    write_checkpoint(path, {"weights": np.arange(300, dtype=np.float32)}, {"num_bases": 4}, {"data": "none"})
    assert read_checkpoint(path).settings == {"num_bases": 4}
    for bit in flips(path, 4):
        with pytest.raises(PlanError) as caught:
            read_checkpoint(path)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400, bit


def test_a_file_cut_anywhere_is_refused(tmp_path):
    path, whole = tmp_path / "run.kpplan", plan()
    whole.save(path)
    data = path.read_bytes()
    for length in range(0, len(data), max(len(data) // 60, 1)):
        path.write_bytes(data[:length])
        with pytest.raises(PlanError):
            Plan.load(path, whole.design.u)
