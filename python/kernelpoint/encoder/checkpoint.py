"""Encoder checkpoints: safetensors files whose metadata states the versions that they fit. This module imports no torch and
unpickles nothing.

The metadata's `checksum` is 32 hexadecimal digits: BLAKE2b, 16 bytes long, of all bytes of the file with these digits read as
zeros. So a change of any byte of header or weights is detected.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

from kernelpoint.errors import PlanError, shown
from kernelpoint.files import read_regular
from kernelpoint.graphs.graph import SCHEMA, schema_hash

TOKEN_WIDTH = 32
LAYER_WIDTHS = (64, 128, 128, 256)  # GCL-Sampler, arXiv 2603.00551
EMBEDDING_WIDTH = LAYER_WIDTHS[-1]


def tensor_shapes(num_bases: int) -> dict[str, tuple[int, ...]]:
    """Shapes of all tensors of an encoder, by their names in checkpoints and in `TraceEncoder`.

    Args:
        num_bases: number of basis matrices of each relational layer.

    >>> tensor_shapes(4)["layers.2.weight"]
    (4, 128, 256)
    """
    shapes: dict[str, tuple[int, ...]] = {
        "tokens.weight": (SCHEMA.token_count, TOKEN_WIDTH),
        "modifiers.weight": (SCHEMA.modifier_count, TOKEN_WIDTH),
    }
    for number, (before, after) in enumerate(pairwise(LAYER_WIDTHS)):
        shapes[f"layers.{number}.weight"] = (num_bases, before, after)
        shapes[f"layers.{number}.comp"] = (len(SCHEMA.relations), num_bases)
        shapes[f"layers.{number}.root"] = (before, after)
        shapes[f"layers.{number}.bias"] = (after,)
        shapes[f"norms.{number}.weight"] = shapes[f"norms.{number}.bias"] = (after,)
    return shapes


ENCODER_VERSION = 3  # raised when the same weights would give other embeddings
BUILTIN = "builtin"
MOST_BYTES = 1 << 30
UNSEALED = b"0" * 32
_SEAL = re.compile(rb'"checksum":"([0-9a-f]{32})"')


@dataclass(frozen=True)
class Checkpoint:
    """Checkpoint of an encoder (the neural network that embeds traces): metadata, and the path of the file with the weights.

    Attributes:
        path: path of the file.
        digest: 16 hexadecimal digits, hash of the file; part of the key of cached embeddings.
        settings: constructor arguments of `TraceEncoder`.
        card: data, settings and seeds of the training.

    Example:
        >>> checkpoint = read_checkpoint()
        >>> checkpoint.path.name, len(checkpoint.digest)
        ('builtin.safetensors', 16)
    """

    path: Path
    digest: str
    settings: dict[str, Any]
    card: dict[str, Any]


def checkpoint_path(name: str | PathLike[str]) -> Path:
    """Path of a checkpoint file; the name "builtin" means the checkpoint that ships with the package."""
    if name == BUILTIN:
        return Path(str(resources.files("kernelpoint") / "checkpoints" / "builtin.safetensors"))
    return Path(name)


def read_checkpoint(name: str | PathLike[str] = BUILTIN) -> Checkpoint:
    """Read the metadata of an encoder's checkpoint, and check that it fits this version.

    Args:
        name: path, or "builtin".

    Raises:
        PlanError: the file is missing or damaged, is no safetensors file, or was made for another graph schema or encoder
            version.

    >>> read_checkpoint("none.safetensors")
    Traceback (most recent call last):
    ...
    kernelpoint.errors.PlanError: none.safetensors: no such checkpoint; `kernelpoint lab train` makes one
    """
    path = checkpoint_path(name)
    data = read_sealed(path)
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise PlanError(f"{path}: not a safetensors checkpoint ({str(error)[:200]})") from None
    schema, present = metadata.get("graph_schema"), _schema_name(str(SCHEMA.version), schema_hash())
    _check(path, "graph schema", schema and _schema_name(metadata.get("graph_schema_version", "1"), schema), present)
    _check(path, "encoder version", metadata.get("encoder_version"), str(ENCODER_VERSION))
    _check(path, "checksum", metadata.get("checksum"), checksum(data))
    try:
        settings, card = json.loads(metadata["settings"]), json.loads(metadata["card"])
    except (LookupError, ValueError):
        raise PlanError(
            f"{path}: not an encoder checkpoint of KernelPoint: its metadata has no settings or no card (record of "
            "its training); train it again with `kernelpoint lab train`"
        ) from None
    return Checkpoint(path, hashlib.blake2b(data, digest_size=8).hexdigest(), settings, card)


def _schema_name(version: str, digest: str) -> str:
    return f"{version} ({digest})"


def read_sealed(path: str | PathLike[str]) -> bytes:
    """Read a safetensors file; verify its checksum if it has one.

    Raises:
        PlanError: the file cannot be read, or its checksum is wrong.
    """
    try:
        data = read_regular(Path(path), MOST_BYTES)
    except FileNotFoundError:
        raise PlanError(f"{path}: no such checkpoint; `kernelpoint lab train` makes one") from None
    except OSError as error:
        raise PlanError(f"cannot read the checkpoint {path}: {error.strerror}") from None
    match = _SEAL.search(_header(data))
    if match is not None and match[1].decode() != checksum(data):
        raise PlanError(f"{path}: its checksum is wrong: it was damaged or changed after it was written; take another copy")
    return data


def _header(data: bytes) -> bytes:
    return data[8 : 8 + int.from_bytes(data[:8], "little")]


def checksum(data: bytes) -> str:
    """Checksum of the bytes of a checkpoint, with zeros in place of the checksum's own digits."""
    match = _SEAL.search(_header(data))
    digest = hashlib.blake2b(digest_size=16)
    if match is None:
        digest.update(data)
    else:
        begin, end = (8 + place for place in match.span(1))
        for part in (data[:begin], UNSEALED, data[end:]):
            digest.update(part)
    return digest.hexdigest()


def checkpoint_hash(name: str | PathLike[str] = BUILTIN) -> str:
    """Hash of a checkpoint file, 16 hexadecimal digits. Raises the errors of `read_checkpoint`.

    >>> len(checkpoint_hash("builtin"))
    16
    """
    return read_checkpoint(name).digest


def read_tensors(checkpoint: Checkpoint) -> dict[str, np.ndarray]:
    """Read the weights of a checkpoint, by name.

    Raises:
        PlanError: their names or shapes are not those of the encoder that the settings describe.
    """
    tensors, needed = load_file(checkpoint.path), tensor_shapes(checkpoint.settings.get("num_bases", 0))
    for name in sorted(tensors.keys() | needed.keys()):
        shape = tensors[name].shape if name in tensors else None
        if shape != needed.get(name):
            raise PlanError(
                f"{checkpoint.path}: not an encoder of this version: tensor {shown(name)} has shape {shape}, expected "
                f"{needed.get(name)} (None: no such tensor); train it again with `kernelpoint lab train`"
            )
    return tensors


def _check(path: Path, what: str, actual: str | None, needed: str) -> None:
    if actual is None:
        raise PlanError(f"{path}: not an encoder checkpoint of KernelPoint: its metadata has no {what}")
    if actual != needed:
        raise PlanError(
            f"{path}: this checkpoint was made for {what} {actual}, this version of KernelPoint has {needed}; train "
            "again with `kernelpoint lab train`, or use the builtin checkpoint"
        )
