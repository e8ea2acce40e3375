"""Encoder checkpoints: safetensors files whose metadata says what they fit. Nothing here imports torch; nothing is pickled."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from kernelpoint.errors import PlanError
from kernelpoint.graphs.schema import schema_hash

ENCODER_VERSION = 1  # raised when the same weights would give other embeddings
BUILTIN = "builtin"


@dataclass(frozen=True)
class Checkpoint:
    """Content of a checkpoint file.

    Attributes:
        path: where it lies.
        digest: 16 hexadecimal digits over the file's bytes; part of the key of cached embeddings.
        settings: constructor arguments of `TraceEncoder`.
        card: how it was trained: data, settings, seeds.
    """

    path: Path
    digest: str
    settings: dict[str, Any]
    card: dict[str, Any]


def checkpoint_path(name: str | os.PathLike[str]) -> Path:
    """The file that `name` means: "builtin" is the one that comes with the package."""
    if name == BUILTIN:
        return Path(str(resources.files("kernelpoint") / "checkpoints" / "builtin.safetensors"))
    return Path(name)


def read_checkpoint(name: str | os.PathLike[str] = BUILTIN) -> Checkpoint:
    """Reads a checkpoint's metadata and refuses what does not fit this version.

    Raises:
        PlanError: no such file, not a safetensors file, not an encoder, or of another graph schema or encoder version.
    """
    path = checkpoint_path(name)
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
        digest = hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()
    except FileNotFoundError:
        raise PlanError(f"{path}: no such checkpoint; `kernelpoint train` makes one") from None
    except (SafetensorError, OSError) as error:
        raise PlanError(f"{path}: not a safetensors checkpoint ({error})") from error
    _check(path, "graph schema", metadata.get("graph_schema"), schema_hash())
    _check(path, "encoder version", metadata.get("encoder_version"), str(ENCODER_VERSION))
    return Checkpoint(path, digest, json.loads(metadata["settings"]), json.loads(metadata["card"]))


def checkpoint_hash(name: str | os.PathLike[str] = BUILTIN) -> str:
    """16 hexadecimal digits that identify a checkpoint's bytes; raises as `read_checkpoint`."""
    return read_checkpoint(name).digest


def _check(path: Path, what: str, found: str | None, needed: str) -> None:
    if found is None:
        raise PlanError(f"{path}: its metadata names no {what}: not an encoder checkpoint of KernelPoint")
    if found != needed:
        raise PlanError(
            f"{path}: made for {what} {found}, this version of KernelPoint has {needed}; "
            "train again with `kernelpoint train` or use the builtin checkpoint"
        )


def write_checkpoint(
    path: str | os.PathLike[str], weights: dict[str, np.ndarray], settings: dict[str, Any], card: dict[str, Any]
) -> None:
    """Writes an encoder's weights, whole or not at all."""
    metadata = {
        "graph_schema": schema_hash(),
        "encoder_version": str(ENCODER_VERSION),
        "settings": json.dumps(settings, sort_keys=True),
        "card": json.dumps(card, sort_keys=True),
    }
    save_whole(path, weights, metadata)


def save_whole(path: str | os.PathLike[str], tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Writes a safetensors file beside its place and moves it there, so that no reader meets half a file."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        content = save({k: np.ascontiguousarray(v) for k, v in tensors.items()}, metadata=metadata)
        partial.write_bytes(content)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
