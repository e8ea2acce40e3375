"""Contrastive training of the encoder on the graphs of distinct streams."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import torch

from kernelpoint.encoder.batch import collate
from kernelpoint.encoder.checkpoint import save_whole, write_checkpoint
from kernelpoint.encoder.loss import TEMPERATURE, alignment, info_nce, uniformity
from kernelpoint.encoder.model import ProjectionHead, TraceEncoder
from kernelpoint.encoder.views import hide_tokens, random_view
from kernelpoint.errors import ConfigError, PlanError
from kernelpoint.graphs import TraceGraph, schema_hash
from kernelpoint.randomness import generator


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of a training run. The paper names AdamW and a cosine schedule; the numbers are ours (Model:).

    Attributes:
        epochs: passes over the graphs.
        batch_size: graphs in a batch; every other graph of the batch is a negative.
        hard_negatives: graphs of one kernel that stand together in a batch, as far as there are that many; 1 draws evenly.
        learning_rate: its peak, after a linear warm-up over the first 5 % of the steps; a cosine down to zero follows.
        weight_decay: of AdamW.
        temperature: of InfoNCE.
        hidden_tokens: share of nodes whose tokens each view hides; see `views.hide_tokens`.
        num_bases, dropout: of the encoder.
        seed: of weights, order, views and dropout.
        device: "cpu" or "cuda".
        threads: torch's threads on the CPU.
    """

    epochs: int = 40
    batch_size: int = 48
    hard_negatives: int = 1
    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    temperature: float = TEMPERATURE
    hidden_tokens: float = 0.15
    num_bases: int = 4
    dropout: float = 0.1
    seed: int = 0
    device: str = "cpu"
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "hard_negatives", "num_bases", "threads"):
            if getattr(self, name) < (2 if name == "batch_size" else 1):
                raise ConfigError(f"{name}: {getattr(self, name)} given, too small")
        for name in ("dropout", "hidden_tokens"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name}: {getattr(self, name)} given, allowed is 0 up to, but not including, 1")
        for name in ("learning_rate", "temperature"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name}: {getattr(self, name)} given, a number above 0 is needed")
        if self.device.startswith("cuda") and not torch.cuda.is_available():
            raise ConfigError(f"device: {self.device!r} given, but torch finds no CUDA device here; use cpu")


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


def rate_factor(step: int, steps: int) -> float:
    """Learning rate at a step, as a fraction of its peak: linear warm-up over 5 %, then a cosine.

    >>> [round(rate_factor(step, 100), 2) for step in (0, 5, 50, 100)]
    [0.2, 1.0, 0.54, 0.0]
    """
    warm_up = max(1, steps // 20)
    if step < warm_up:
        return (step + 1) / warm_up
    return (1 + float(np.cos(np.pi * (step - warm_up) / max(1, steps - warm_up)))) / 2


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


class Trainer:
    """Trains an encoder; its state can be saved after every epoch and taken up again with the same result.

    Args:
        graphs: one per distinct stream.
        config: settings.
        names: the kernel of each graph; needed for hard negatives only.
    """

    def __init__(self, graphs: Sequence[TraceGraph], config: TrainingConfig, names: Sequence[str] = ()) -> None:
        if len(graphs) < 2:
            raise ConfigError(f"{len(graphs)} distinct stream(s) to train on; contrastive training needs at least 2")
        torch.set_num_threads(config.threads)
        self.graphs, self.config, self.epoch, self.seconds = graphs, config, 0, 0.0
        self.names = list(names) or [""] * len(graphs)
        self._seed("weights")
        self.encoder = TraceEncoder(config.num_bases, config.dropout).to(config.device)
        self.head = ProjectionHead(config.dropout).to(config.device)
        self.parameters = dict(torch.nn.ModuleList([self.encoder, self.head]).named_parameters())
        self.optimiser = torch.optim.AdamW(
            self.parameters.values(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.batches = max(1, len(graphs) // config.batch_size)

    def _seed(self, purpose: str, *indices: int) -> None:
        torch.manual_seed(int(generator(self.config.seed, f"training {purpose}", *indices).integers(2**63)))

    def epochs(self) -> Iterator[EpochRecord]:
        """Trains to the last epoch, one record at a time."""
        while self.epoch < self.config.epochs:
            yield self.run_epoch()

    def run_epoch(self, on_batch: Callable[[], None] = lambda: None) -> EpochRecord:
        """One pass over the graphs in random order, in batches of equal size as nearly as can be."""
        started = time.monotonic()
        self._seed("dropout", self.epoch)
        random = generator(self.config.seed, "training", self.epoch)
        sums = np.zeros(3)
        order = draw_order(self.names, self.config.hard_negatives, random)
        for number, chosen in enumerate(np.array_split(order, self.batches)):
            rate = self.config.learning_rate * rate_factor(
                self.epoch * self.batches + number, self.config.epochs * self.batches
            )
            sums += self._step([self.graphs[i] for i in chosen], rate, random)
            on_batch()
        self.epoch += 1
        self.seconds += time.monotonic() - started
        loss, aligned, uniform = (sums / self.batches).tolist()
        if not np.isfinite(loss):
            raise ConfigError(f"the loss became {loss} in epoch {self.epoch}; try a smaller learning rate")
        return EpochRecord(self.epoch, loss, aligned, uniform, rate, round(self.seconds, 2), self._memory())

    def _step(self, graphs: list[TraceGraph], rate: float, random: np.random.Generator) -> tuple[float, float, float]:
        batch = collate(graphs).to(self.config.device)
        self.encoder.train()
        self.head.train()
        hidden = self.config.hidden_tokens
        views = [hide_tokens(random_view(batch, random), hidden, random) for _ in range(2)]
        a, b = (self.head(self.encoder(view)) for view in views)
        loss = info_nce(a, b, self.config.temperature)
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
        """Everything needed to go on: weights, optimiser, epoch. Random numbers are keyed by epoch and need no state."""
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
        """Takes up a saved state; refused where it belongs to other data, settings or another schema."""
        from safetensors import safe_open

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
        """Writes the encoder alone, as `kernelpoint.encoder.checkpoint` reads it."""
        weights = {name: value.detach().cpu().numpy() for name, value in self.encoder.state_dict().items()}
        settings = {"num_bases": self.config.num_bases, "dropout": self.config.dropout}
        write_checkpoint(path, weights, settings, card | {"config": asdict(self.config)})


def write_log(path: Path, records: Sequence[EpochRecord]) -> None:
    """The log as CSV: one row an epoch."""
    names = [field.name for field in fields(EpochRecord)]
    rows = [",".join(f"{getattr(record, name):.6g}" for name in names) for record in records]
    path.write_text("\n".join([",".join(names), *rows]) + "\n")


def read_log(path: Path) -> list[EpochRecord]:
    """What `write_log` wrote."""
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    return [EpochRecord(int(epoch), *(float(value) for value in values)) for epoch, *values in rows]
