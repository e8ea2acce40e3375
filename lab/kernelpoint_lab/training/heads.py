"""The training head that predicts the fast model's observations of launches, beside the contrastive loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, smooth_l1_loss

from kernelpoint.encoder.checkpoint import LAYER_WIDTHS
from kernelpoint_lab.training.observations import Observations

HIDDEN_WIDTH = 64


class ObservationLoss(nn.Module):
    """Smooth L1 distance between a small head's output, computed from embeddings, and the fast model's observations. Not
    part of a checkpoint.

    192 + work -> 64 -> targets. Model: not in the paper, whose encoder sees no cycle. One hidden layer, so that what it reads
    is nearly linear in the embedding, where distances are. It is told the launch's work too, which a graph does not hold.
    Work and targets have a standard deviation of 1 here; graphs that were not observed take no part.

    Args:
        observations: of some of the graphs.
        graphs: how many there are.
        dropout: of the hidden layer.
    """

    known: Tensor
    work: Tensor
    targets: Tensor

    def __init__(self, observations: Observations, graphs: int, dropout: float) -> None:
        super().__init__()
        work, targets = _standardised(observations.work), _standardised(observations.targets)
        inputs, outputs = LAYER_WIDTHS[-1] + work.shape[1], targets.shape[1]
        self.layers = nn.Sequential(
            nn.Linear(inputs, HIDDEN_WIDTH), nn.ReLU(), nn.Dropout(dropout), nn.Linear(HIDDEN_WIDTH, outputs)
        )
        rows = torch.from_numpy(observations.rows)
        self.register_buffer("known", torch.zeros(graphs, dtype=torch.bool).index_fill(0, rows, True))
        for name, values in (("work", work), ("targets", targets)):
            of_graph = torch.zeros(graphs, values.shape[1]).index_copy(0, rows, values)
            self.register_buffer(name, of_graph)

    def forward(self, views: Sequence[Tensor], chosen: np.ndarray) -> Tensor:
        """The mean over views, [batch, 192] each; `chosen` are the numbers of their graphs."""
        numbers = torch.from_numpy(chosen).to(self.known.device)
        known = self.known[numbers]
        if not known.any():
            return views[0].new_zeros(())
        work, targets = self.work[numbers][known], self.targets[numbers][known]
        read = [self.layers(torch.cat([normalize(view[known], dim=1), work], 1)) for view in views]
        return torch.stack([smooth_l1_loss(each, targets) for each in read]).mean()


def _standardised(values: np.ndarray) -> Tensor:
    spread = values.std(0)
    return torch.from_numpy((values - values.mean(0)) / np.where(spread > 0, spread, 1)).float()
