"""Fits the input readout: launches that lie near each other shall behave alike on the fast model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from kernelpoint.encoder.batch import collate
from kernelpoint.encoder.encode import batches
from kernelpoint.encoder.model import TraceEncoder, input_sums
from kernelpoint.encoder.observations import Observations
from kernelpoint.graphs import TraceGraph
from kernelpoint.randomness import generator

STEPS = 200
RATE = 0.02
TEMPERATURE = 0.05
SHARE = 0.7  # of the launches in a step

Progress = Callable[[int, int], None]


def fit_readout(
    encoder: TraceEncoder,
    graphs: Sequence[TraceGraph],
    observations: Observations,
    work_scale: float,
    seed: int = 0,
    progress: Progress = lambda done, total: None,
) -> float:
    r"""Fits the weights of `encoder.readout` to observations, the rest of the encoder as it is.

    .. math:: L = \frac{1}{n} \sum_i \Big| y_i - \frac{\sum_{j \ne i} y_j e^{-d_{ij}^2 / \tau}}
              {\sum_{j \ne i} e^{-d_{ij}^2 / \tau}} \Big|_1

    Metric learning for kernel regression (Weinberger and Tesauro, AISTATS 2007); d is the distance that clusters use, of
    embedding and work (`clustering.run_features`), y what the fast model observes. Model: a random 70 % of the launches in
    each of 200 steps of Adam, so that none learns its neighbours by heart.

    Args:
        encoder: trained already; changed in place, left ready to embed.
        graphs: of the launches observed.
        observations: of the same launches.
        work_scale: of log2 of the work in distances, `clustering.features.WORK_SCALE`.
        seed: of the launches of each step.
        progress: called with (steps done, steps).

    Returns:
        The mean loss of the last tenth of the steps.
    """
    encoder.eval()
    structure, opcodes, accesses = _inputs(encoder, graphs)
    targets = torch.from_numpy(observations.targets)
    work = torch.from_numpy(observations.work) * work_scale
    fixed = _squared_distances(structure) / 2 + _squared_distances(work) + torch.diag(torch.full((len(work),), 1e9))
    readout = encoder.readout.requires_grad_(True)
    optimiser = torch.optim.Adam(readout.parameters(), lr=RATE)
    losses = []
    for step in range(STEPS):
        drawn = generator(seed, "readout", step).random(len(graphs)) < SHARE
        kept = torch.from_numpy(drawn.nonzero()[0])
        rows = normalize(opcodes[kept] @ readout.opcodes.weight + readout.accesses(accesses[kept]), dim=1)
        distances = fixed[kept][:, kept] + _squared_distances(rows) / 2
        guesses = torch.softmax(-distances / TEMPERATURE, 1) @ targets[kept]
        loss = (guesses - targets[kept]).abs().mean(0).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
        progress(step + 1, STEPS)
    readout.requires_grad_(False)
    last = losses[-max(1, STEPS // 10) :]
    return sum(last) / len(last)


def _inputs(encoder: TraceEncoder, graphs: Sequence[TraceGraph]) -> tuple[Tensor, Tensor, Tensor]:
    """Structure of length 1, shares of opcodes and means of accesses, a row for each graph."""
    parts = []
    with torch.no_grad():
        for some in batches(graphs):
            batch = collate(some)
            opcodes, accesses = input_sums(batch)
            parts.append((normalize(encoder.structure(batch), dim=1), opcodes.float(), accesses.float()))
    structure, opcodes, accesses = (torch.cat(rows) for rows in zip(*parts, strict=True))
    return structure, opcodes, accesses


def _squared_distances(rows: Tensor) -> Tensor:
    """Between all pairs of rows. Numerics: by products, whose gradient is finite where rows are equal."""
    squares = rows.square().sum(1)
    return (squares[:, None] + squares[None] - 2 * rows @ rows.T).clamp(min=0)
