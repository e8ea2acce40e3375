"""Pairs of graphs of a batch that belong together besides the two views of one graph, by their kernel names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

RULES = ("positive", "ignored", "negative")


def equal_pairs(labels: Sequence[str]) -> Tensor:
    """bool [n, n]: whether two labels are equal.

    >>> equal_pairs(["a", "b", "a"]).long().tolist()
    [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    """
    numbers = torch.from_numpy(np.unique(np.array(labels), return_inverse=True)[1].ravel())
    return numbers[:, None] == numbers[None]


def draw_order(names: Sequence[str], together: int, random: np.random.Generator) -> np.ndarray:
    """A random order of graphs in which blocks of up to `together` graphs of one kernel stand side by side.

    >>> order = draw_order(["a", "b", "a", "b", "a", "b"], 3, np.random.default_rng(0))
    >>> set(order[:3].tolist()) in ({0, 2, 4}, {1, 3, 5})
    True
    """
    drawn = random.permutation(len(names))
    blocks: list[list[int]] = []
    open_blocks: dict[str, list[int]] = {}
    for graph in drawn.tolist():
        block = open_blocks.get(names[graph], [])
        if len(block) in (0, together):
            block = open_blocks[names[graph]] = []
            blocks.append(block)
        block.append(graph)
    return np.concatenate([blocks[i] for i in random.permutation(len(blocks))])


def draw_some(names: Sequence[str], most: int, random: np.random.Generator) -> np.ndarray:
    """Ascending numbers of graphs, at most `most` of each kernel, drawn evenly.

    >>> draw_some(["a", "a", "b"], 1, np.random.default_rng(0)).tolist() in ([0, 2], [1, 2])
    True
    """
    taken: dict[str, int] = {}
    chosen = []
    for graph in random.permutation(len(names)).tolist():
        taken[names[graph]] = taken.get(names[graph], 0) + 1
        if taken[names[graph]] <= most:
            chosen.append(graph)
    return np.sort(np.array(chosen))
