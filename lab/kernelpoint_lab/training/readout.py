"""Fits the input readout: launches that lie near each other shall behave alike on the fast model, or be kin."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from kernelpoint.graphs import TraceGraph
from kernelpoint.progress import Progress
from kernelpoint.randomness import generator
from kernelpoint_lab.training.batch import collate
from kernelpoint_lab.training.encode import batches
from kernelpoint_lab.training.model import TraceEncoder, input_sums
from kernelpoint_lab.training.observations import Observations

STEPS = 200
RATE = 0.02
TEMPERATURE = 0.05
SHARE = 0.7  # of the launches in a step
KIN = 0.3  # weight of the loss on kin
KIN_TEMPERATURE = 0.1
FAR, TINY = 1e9, 1e-6


def fit_readout(
    encoder: TraceEncoder,
    graphs: Sequence[TraceGraph],
    observations: Observations,
    work_scale: float,
    seed: int = 0,
    progress: Progress = lambda done, total: None,
) -> float:
    r"""Fits the weights of `encoder.readout` to observations and kin, the rest of the encoder as it is.

    .. math:: L = \frac{1}{n} \sum_i \Big| y_i - \sum_{j \ne i} p_{ij} y_j \Big|_1
              - \frac{\kappa}{m} \sum_{i} \log \sum_{j \in K_i} q_{ij}, \qquad p_{ij} \propto e^{-d_{ij}^2 / \tau}

    Metric learning for kernel regression (Weinberger and Tesauro, AISTATS 2007) and neighbourhood components (Goldberger et
    al., NeurIPS 2004); d is the distance that clusters use, of embedding and work (`clustering.run_features`), y what the fast
    model observes, K_i the kernels of another name in the family of launch i, q as p over launches of other names. Model:
    without the second sum kin drift apart, since opcodes weigh half of the embedding. A random 70 % of the launches in each of
    200 steps of Adam, so that none learns its neighbours by heart.

    Args:
        encoder: trained already; changed in place, left ready to embed.
        graphs: that it was trained on.
        observations: of some of them.
        work_scale: of log2 of the work in distances, `clustering.features.WORK_SCALE`.
        seed: of the launches of each step.
        progress: called with (steps done, steps).

    Returns:
        The mean loss of the last tenth of the steps, without that of kin.
    """
    encoder.eval()
    structure, opcodes, accesses = _inputs(encoder, [graphs[row] for row in observations.rows])
    targets, work = torch.from_numpy(observations.targets), torch.from_numpy(observations.work) * work_scale
    fixed = _squared_distances(structure) / 2 + _squared_distances(work) + torch.diag(torch.full((len(work),), FAR))
    families, names = torch.from_numpy(observations.families), torch.from_numpy(observations.names)
    readout = encoder.readout.requires_grad_(True)
    optimiser = torch.optim.Adam(readout.parameters(), lr=RATE)
    losses = []
    for step in range(STEPS):
        drawn = generator(seed, "readout", step).random(len(work)) < SHARE
        kept = torch.from_numpy(drawn.nonzero()[0])
        rows = normalize(opcodes[kept] @ readout.opcodes.weight + readout.accesses(accesses[kept]), dim=1)
        distances = fixed[kept][:, kept] + _squared_distances(rows) / 2
        guesses = torch.softmax(-distances / TEMPERATURE, 1) @ targets[kept]
        loss = (guesses - targets[kept]).abs().mean(0).sum()
        optimiser.zero_grad()
        (loss + KIN * kin_loss(distances, families[kept], names[kept])).backward()
        optimiser.step()
        losses.append(float(loss.detach()))
        progress(step + 1, STEPS)
    readout.requires_grad_(False)
    last = losses[-max(1, STEPS // 10) :]
    return sum(last) / len(last)


def kin_loss(distances: Tensor, families: Tensor, names: Tensor) -> Tensor:
    """Minus the log of how likely a launch's neighbour of another name is of its family, the mean; 0 where no launch has kin.

    Args:
        distances: [n, n], squared.
        families: [n], -1 where it is not known.
        names: [n], numbers of kernel names.
    """
    other = names[:, None] != names[None]
    kin = (families[:, None] == families[None]) & (families >= 0)[:, None] & other
    asked = kin.any(1)
    if not asked.any():
        return distances.new_zeros(())
    likely = torch.softmax(torch.where(other, -distances / KIN_TEMPERATURE, -FAR), 1)
    return -((likely * kin).sum(1)[asked] + TINY).log().mean()


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
    """Squared distances between all pairs of rows. Numerics: by products, whose gradient is finite where rows are equal."""
    squares = rows.square().sum(1)
    return (squares[:, None] + squares[None] - 2 * rows @ rows.T).clamp(min=0)
