"""The encoder's shape: what a checkpoint has to hold, for every backend."""

from __future__ import annotations

from itertools import pairwise

from kernelpoint.graphs import SCHEMA

TOKEN_WIDTH = 32
LAYER_WIDTHS = (64, 128, 128, 192)
INPUT_READOUT_WIDTH = 64
EMBEDDING_WIDTH = LAYER_WIDTHS[-1] + INPUT_READOUT_WIDTH


def tensor_shapes(num_bases: int) -> dict[str, tuple[int, ...]]:
    """Shape of every tensor of an encoder with this many bases, by its name in checkpoints and in `TraceEncoder`.

    >>> tensor_shapes(4)["layers.2.weight"]
    (4, 128, 192)
    """
    shapes: dict[str, tuple[int, ...]] = {
        "tokens.weight": (SCHEMA.token_count, TOKEN_WIDTH),
        "modifiers.weight": (SCHEMA.modifier_count, TOKEN_WIDTH),
        "readout.opcodes.weight": (1 + len(SCHEMA.opcodes), INPUT_READOUT_WIDTH),
        "readout.accesses.weight": (INPUT_READOUT_WIDTH, SCHEMA.feature_count),
    }
    for number, (before, after) in enumerate(pairwise(LAYER_WIDTHS)):
        shapes[f"layers.{number}.weight"] = (num_bases, before, after)
        shapes[f"layers.{number}.comp"] = (len(SCHEMA.relations), num_bases)
        shapes[f"layers.{number}.root"] = (before, after)
        shapes[f"layers.{number}.bias"] = (after,)
        shapes[f"norms.{number}.weight"] = shapes[f"norms.{number}.bias"] = (after,)
    return shapes
