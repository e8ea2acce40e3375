"""Checkpoints written: an encoder for `kernelpoint.encoder`, and the state of a training run."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from kernelpoint.encoder.checkpoint import ENCODER_VERSION, UNSEALED, checksum
from kernelpoint.files import replacing
from kernelpoint.graphs.graph import SCHEMA, schema_hash


def write_checkpoint(
    path: str | PathLike[str], weights: dict[str, np.ndarray], settings: dict[str, Any], card: dict[str, Any]
) -> None:
    """Write an encoder's weights; the file appears whole or not at all."""
    metadata = {
        "graph_schema": schema_hash(),
        "graph_schema_version": str(SCHEMA.version),
        "encoder_version": str(ENCODER_VERSION),
        "settings": json.dumps(settings, sort_keys=True),
        "card": json.dumps(card, sort_keys=True),
    }
    save_whole(path, weights, metadata)


def save_whole(path: str | PathLike[str], tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Write a safetensors file with its checksum; the file appears whole or not at all."""
    sealed = {**metadata, "checksum": UNSEALED.decode()}
    content = save({k: np.ascontiguousarray(v) for k, v in tensors.items()}, metadata=sealed)
    begin = content.index(b'"checksum":"' + UNSEALED) + len(b'"checksum":"')
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing(Path(path)) as file:
        file.write(content[:begin] + checksum(content).encode() + content[begin + len(UNSEALED) :])
