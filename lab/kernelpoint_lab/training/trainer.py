"""Contrastive training of the encoder on the graphs of distinct streams."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

import numpy as np
import torch

from kernelpoint.encoder.checkpoint import read_sealed
from kernelpoint.errors import ConfigError, PlanError
from kernelpoint.graphs import TraceGraph, schema_hash
from kernelpoint.randomness import generator
from kernelpoint_lab.training.batch import collate
from kernelpoint_lab.training.config import TrainingConfig
from kernelpoint_lab.training.log import EpochRecord
from kernelpoint_lab.training.loss import alignment, info_nce, uniformity
from kernelpoint_lab.training.model import ProjectionHead, TraceEncoder
from kernelpoint_lab.training.views import random_view
from kernelpoint_lab.training.writing import save_whole, write_checkpoint


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
    """Trains an encoder; its state can be saved after every epoch and taken up again with the same result.

    Args:
        graphs: one per distinct stream; each is a negative of every other one of its batch.
        config: settings.
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
        self.optimiser = torch.optim.AdamW(
            self.parameters.values(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.batches = max(1, len(graphs) // config.batch_size)

    def _seed(self, purpose: str, *indices: int) -> None:
        torch.manual_seed(int(generator(self.config.seed, f"training {purpose}", *indices).integers(2**63)))

    def epochs(self) -> Iterator[EpochRecord]:
        """Train to the last epoch; yields the record of each epoch."""
        while self.epoch < self.config.epochs:
            yield self.run_epoch()

    def run_epoch(self, on_batch: Callable[[], None] = lambda: None) -> EpochRecord:
        """One pass over the graphs in random order, in batches of equal size as nearly as can be."""
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
        """Writes the encoder alone, as `kernelpoint.encoder.checkpoint` reads it. Numerics: weights are rounded to half
        precision, as embeddings are; it halves the file.
        """
        weights = {name: value.detach().half().cpu().numpy() for name, value in self.encoder.state_dict().items()}
        settings = {"num_bases": self.config.num_bases, "dropout": self.config.dropout}
        write_checkpoint(path, weights, settings, card | {"config": asdict(self.config)})
