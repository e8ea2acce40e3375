"""Contrastive training of the encoder on the graphs of distinct streams."""

from __future__ import annotations

import json
import math
import os
import re
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from kernelpoint.encoder.checkpoint import read_sealed
from kernelpoint.errors import ConfigError, PlanError
from kernelpoint.files import read_regular, write_output
from kernelpoint.graphs import TraceGraph, schema_hash
from kernelpoint.randomness import generator
from kernelpoint_lab.training.model import GraphBatch, ProjectionHead, TraceEncoder, collate
from kernelpoint_lab.training.writing import save_whole, write_checkpoint

TEMPERATURE = 0.05


def info_nce(a: Tensor, b: Tensor, temperature: float = TEMPERATURE) -> Tensor:
    r"""Symmetric InfoNCE over two views of a batch (van den Oord et al., 2018; GCL-Sampler, arXiv 2603.00551).

    .. math:: L = \frac{1}{2B} \sum_i \ell(a_i, b) + \ell(b_i, a), \qquad
              \ell(a_i, b) = -s(a_i, b_i) + \log \sum_j \exp s(a_i, b_j), \qquad s(a, b) = \cos(a, b) / \tau

    Numerics: the log-sum-exp form has no overflow at a temperature of 0.05, where terms reach exp(20).

    Args:
        a, b: projections of the two views, [batch, width]; rows i belong together.
        temperature: tau.

    >>> eye = torch.eye(3)
    >>> bool(info_nce(eye, eye) < info_nce(eye, eye.flip(0)))
    True
    """
    scores = normalize(a, dim=1) @ normalize(b, dim=1).T / temperature
    return ((scores.logsumexp(1) + scores.logsumexp(0)) / 2 - scores.diagonal()).mean()


def alignment(a: Tensor, b: Tensor) -> Tensor:
    """Mean squared distance of the normalised views of one graph; 0 is best (Wang and Isola, ICML 2020)."""
    return (normalize(a, dim=1) - normalize(b, dim=1)).square().sum(1).mean()


def uniformity(a: Tensor) -> Tensor:
    """log of the mean of exp(-2 d^2) over pairs of normalised rows; lower is more even (Wang and Isola, ICML 2020)."""
    if len(a) < 2:
        return a.new_zeros(())
    return torch.pdist(normalize(a, dim=1)).square().mul(-2).exp().mean().log()


MOST = 1_000_000  # of any count among the settings


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of a training run. The paper names AdamW and a cosine schedule; the numbers are ours (Model:).

    Attributes:
        epochs: passes over the graphs.
        max_nodes: greatest number of nodes of a graph in training.
        batch_size: graphs in a batch; every other graph of the batch is a negative.
        learning_rate: peak learning rate, after a linear warm-up over the first 5 % of the steps; then a cosine down to zero.
        weight_decay: weight decay of AdamW.
        temperature: temperature of InfoNCE.
        num_bases, dropout: number of bases and dropout rate of the encoder.
        seed: seed of weights, order, views and dropout.
        device: "cpu" or "cuda".
        threads: number of torch's threads on the CPU.

    >>> TrainingConfig(epochs=0)
    Traceback (most recent call last):
    ...
    kernelpoint.errors.ConfigError: epochs: 0 given, allowed is 1 to 1,000,000
    """

    epochs: int = 24
    max_nodes: int = 300
    batch_size: int = 48
    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    temperature: float = TEMPERATURE
    num_bases: int = 4
    dropout: float = 0.1
    seed: int = 0
    device: str = "cpu"
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "max_nodes", "batch_size", "num_bases", "threads"):
            least = 2 if name == "batch_size" else 1
            if not least <= getattr(self, name) <= MOST:
                raise ConfigError(f"{name}: {getattr(self, name)} given, allowed is {least} to {MOST:,}")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout: {self.dropout} given, allowed is 0 up to, but not including, 1")
        for name in ("learning_rate", "temperature"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name}: {getattr(self, name)} given, a finite number above 0 is needed")
        if not re.fullmatch(r"cpu|cuda(:\d+)?", self.device):
            raise ConfigError(f"device: {self.device!r} given, allowed are cpu, cuda and cuda:N")
        if self.device.startswith("cuda") and not torch.cuda.is_available():
            raise ConfigError(f"device: {self.device!r} given, but torch finds no CUDA device here; use cpu")


DROPPED_NODES = 0.15
DROPPED_EDGES = 0.15
NOISE = 0.01


def random_view(batch: GraphBatch, random: np.random.Generator) -> GraphBatch:
    """A view in which every graph underwent one or two, drawn evenly, of: 15 % of its nodes dropped, 15 % of its edges
    dropped, Gaussian noise of standard deviation 0.01 on its features (GCL-Sampler, arXiv 2603.00551).

    Model: a warp keeps its first node whatever is drawn, so none becomes empty; noise falls on the schema's features, not
    on the learned token vectors. Graphs are drawn for one by one, in the batch's order.
    """
    chosen = np.zeros((batch.num_graphs, 3), bool)
    order = random.permuted(np.tile(np.arange(3), (batch.num_graphs, 1)), axis=1)
    chosen[np.arange(batch.num_graphs), order[:, 0]] = True
    second = random.random(batch.num_graphs) < 0.5
    chosen[np.arange(batch.num_graphs)[second], order[second, 1]] = True
    flags = torch.from_numpy(chosen).to(batch.tokens.device)
    return drop_nodes(drop_edges(add_noise(batch, flags[:, 2], random), flags[:, 1], random), flags[:, 0], random)


def _graph_of_node(batch: GraphBatch) -> Tensor:
    return batch.graph_of_warp[batch.warp_of_node]


def _uniform(count: int, like: Tensor, random: np.random.Generator) -> Tensor:
    return torch.from_numpy(random.random(count, dtype=np.float32)).to(like.device)


def add_noise(batch: GraphBatch, flags: Tensor, random: np.random.Generator) -> GraphBatch:
    """Copy of a batch with noise on the features of the graphs whose flag is set."""
    noise = torch.from_numpy(random.standard_normal(tuple(batch.features.shape), dtype=np.float32))
    scale = NOISE * flags[_graph_of_node(batch)].to(batch.features.dtype)
    return replace(batch, features=batch.features + noise.to(batch.features.device) * scale[:, None])


def drop_edges(batch: GraphBatch, flags: Tensor, random: np.random.Generator) -> GraphBatch:
    """Copy of a batch that lacks 15 % of the edges of the graphs whose flag is set."""
    flagged = flags[_graph_of_node(batch)[batch.edge_index[0]]]
    keep = ~flagged | (_uniform(len(batch.edge_type), batch.edge_type, random) >= DROPPED_EDGES)
    return replace(batch, edge_index=batch.edge_index[:, keep], edge_type=batch.edge_type[keep])


def drop_nodes(batch: GraphBatch, flags: Tensor, random: np.random.Generator) -> GraphBatch:
    """Copy of a batch that lacks 15 % of the nodes, and the edges at them, of the graphs whose flag is set."""
    first = torch.ones_like(batch.warp_of_node, dtype=torch.bool)
    first[1:] = batch.warp_of_node[1:] != batch.warp_of_node[:-1]
    drawn = _uniform(batch.num_nodes, batch.tokens, random) >= DROPPED_NODES
    keep = ~flags[_graph_of_node(batch)] | first | drawn
    number = torch.cumsum(keep, 0) - 1
    edges = keep[batch.edge_index[0]] & keep[batch.edge_index[1]]
    return replace(
        batch,
        kinds=batch.kinds[keep],
        tokens=batch.tokens[keep],
        features=batch.features[keep],
        warp_of_node=batch.warp_of_node[keep],
        edge_index=number[batch.edge_index[:, edges]],
        edge_type=batch.edge_type[edges],
    )


MOST_BYTES_OF_LOG = 1 << 26


@dataclass(frozen=True)
class EpochRecord:
    """One line of the training log. Time in seconds since the start, memory in MiB (peak, resident or on the GPU)."""

    epoch: int
    loss: float
    alignment: float
    uniformity: float
    learning_rate: float
    seconds: float
    memory_mib: float


def write_log(path: Path, records: Sequence[EpochRecord]) -> None:
    """Write the log as CSV, one row for each epoch."""
    names = [field.name for field in fields(EpochRecord)]
    rows = [",".join(f"{getattr(record, name):.6g}" for name in names) for record in records]
    write_output(path, "\n".join([",".join(names), *rows]) + "\n")


def read_log(path: Path) -> list[EpochRecord]:
    """Read the log of a training run, one record for each epoch.

    >>> records = [EpochRecord(1, loss=2.5, alignment=0.4, uniformity=-2.0, learning_rate=1e-3, seconds=9.0, memory_mib=300.0)]
    >>> write_log(Path("log.csv"), records)
    >>> read_log(Path("log.csv")) == records
    True
    """
    rows = [line.split(",") for line in read_regular(path, MOST_BYTES_OF_LOG).decode().splitlines()[1:]]
    return [EpochRecord(int(epoch), *(float(value) for value in values)) for epoch, *values in rows]


def rate_factor(step: int, steps: int) -> float:
    """Learning rate at a step, as a fraction of its peak: linear warm-up over 5 %, then a cosine.

    >>> [round(rate_factor(step, 100), 2) for step in (0, 5, 50, 100)]
    [0.2, 1.0, 0.54, 0.0]
    """
    warm_up = max(1, steps // 20)
    if step < warm_up:
        return (step + 1) / warm_up
    return (1 + float(np.cos(np.pi * (step - warm_up) / max(1, steps - warm_up)))) / 2


class Trainer:
    """Training of an encoder. Its state can be saved after every epoch; a resumed training gives the same result.

    Args:
        graphs: graphs of distinct streams; each is a negative of every other graph in its batch.
        config: settings of the training run.
    """

    def __init__(self, graphs: Sequence[TraceGraph], config: TrainingConfig) -> None:
        if len(graphs) < 2:
            raise ConfigError(f"{len(graphs)} distinct stream(s) to train on; contrastive training needs at least 2")
        torch.set_num_threads(config.threads)
        self.graphs, self.config, self.epoch, self.seconds = graphs, config, 0, 0.0
        self._seed("weights")
        self.encoder = TraceEncoder(config.num_bases, config.dropout).to(config.device)
        self.head = ProjectionHead(config.dropout).to(config.device)
        self.parameters = dict(torch.nn.ModuleList([self.encoder, self.head]).named_parameters())
        self.optimiser = torch.optim.AdamW(self.parameters.values(), lr=config.learning_rate, weight_decay=config.weight_decay)
        self.batches = max(1, len(graphs) // config.batch_size)

    def _seed(self, purpose: str, *indices: int) -> None:
        torch.manual_seed(int(generator(self.config.seed, f"training {purpose}", *indices).integers(2**63)))

    def epochs(self) -> Iterator[EpochRecord]:
        """Train to the last epoch; yields the record of each epoch."""
        while self.epoch < self.config.epochs:
            yield self.run_epoch()

    def run_epoch(self, on_batch: Callable[[], None] = lambda: None) -> EpochRecord:
        """Run one pass over the graphs in random order, in batches of nearly equal size."""
        started = time.monotonic()
        self._seed("dropout", self.epoch)
        random = generator(self.config.seed, "training", self.epoch)
        sums = np.zeros(3)
        for number, chosen in enumerate(np.array_split(random.permutation(len(self.graphs)), self.batches)):
            rate = self.config.learning_rate * rate_factor(
                self.epoch * self.batches + number, self.config.epochs * self.batches
            )
            sums += self._step(chosen, rate, random)
            on_batch()
        self.epoch += 1
        self.seconds += time.monotonic() - started
        loss, aligned, uniform = (sums / self.batches).tolist()
        if not np.isfinite(loss):
            raise ConfigError(f"the loss became {loss} in epoch {self.epoch}; try a smaller learning rate")
        return EpochRecord(self.epoch, loss, aligned, uniform, rate, round(self.seconds, 2), self._memory())

    def _step(self, chosen: np.ndarray, rate: float, random: np.random.Generator) -> tuple[float, float, float]:
        batch = collate([self.graphs[i] for i in chosen]).to(self.config.device)
        self.encoder.train()
        self.head.train()
        a, b = (self.encoder(random_view(batch, random)) for _ in range(2))
        loss = info_nce(self.head(a), self.head(b), self.config.temperature)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        with torch.no_grad():
            return float(loss), float(alignment(a, b)), float(uniformity(a))

    def _memory(self) -> float:
        if self.config.device.startswith("cuda"):
            return round(torch.cuda.max_memory_allocated() / 2**20, 1)
        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)

    def save_state(self, path: str | os.PathLike[str]) -> None:
        """Save the state of training: weights, optimiser, epoch. Random numbers depend on the epoch alone and need no
        state.
        """
        tensors = {}
        for name, parameter in self.parameters.items():
            tensors[f"weight/{name}"] = parameter.detach().cpu().numpy()
            for key, value in self.optimiser.state.get(parameter, {}).items():
                tensors[f"{key}/{name}"] = value.cpu().numpy()
        metadata = {"config": json.dumps(self._resumable()), "epoch": str(self.epoch), "seconds": str(self.seconds)}
        save_whole(path, tensors, metadata | {"graph_schema": schema_hash(), "graphs": str(len(self.graphs))})

    def _resumable(self) -> dict[str, object]:
        return {k: v for k, v in asdict(self.config).items() if k not in ("device", "threads")}

    def load_state(self, path: str | os.PathLike[str]) -> None:
        """Load a saved state; raises an error if it belongs to other data, settings or another schema."""
        from safetensors import safe_open

        read_sealed(path)
        with safe_open(path, framework="pt", device=self.config.device) as file:
            metadata = file.metadata()
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        here = {"config": json.dumps(self._resumable()), "graph_schema": schema_hash(), "graphs": str(len(self.graphs))}
        for key, value in here.items():
            if metadata.get(key) != value:
                raise PlanError(f"{path}: cannot be taken up: its {key} is {metadata.get(key)}, this run has {value}")
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(tensors[f"weight/{name}"])
                keys = [k for k in ("step", "exp_avg", "exp_avg_sq") if f"{k}/{name}" in tensors]
                if keys:
                    self.optimiser.state[parameter] = {k: tensors[f"{k}/{name}"] for k in keys}
                    self.optimiser.state[parameter]["step"] = tensors[f"step/{name}"].cpu()
        self.epoch, self.seconds = int(metadata["epoch"]), float(metadata["seconds"])

    def save_encoder(self, path: str | os.PathLike[str], card: dict[str, object]) -> None:
        """Write the encoder alone, as `kernelpoint.encoder.checkpoint` reads it. Numerics: weights are rounded to half
        precision, as embeddings are; it halves the file.
        """
        weights = {name: value.detach().half().cpu().numpy() for name, value in self.encoder.state_dict().items()}
        settings = {"num_bases": self.config.num_bases, "dropout": self.config.dropout}
        write_checkpoint(path, weights, settings, card | {"config": asdict(self.config)})
