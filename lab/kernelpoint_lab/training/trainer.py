"""Contrastive training of the encoder on the graphs of distinct streams."""

from __future__ import annotations

import json
import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

import numpy as np
import torch

from kernelpoint.encoder.checkpoint import read_sealed, save_whole, write_checkpoint
from kernelpoint.errors import ConfigError, PlanError
from kernelpoint.graphs import TraceGraph, schema_hash
from kernelpoint.randomness import generator
from kernelpoint_lab.training.batch import collate
from kernelpoint_lab.training.config import TrainingConfig
from kernelpoint_lab.training.heads import ObservationLoss
from kernelpoint_lab.training.log import EpochRecord
from kernelpoint_lab.training.loss import alignment, info_nce, uniformity
from kernelpoint_lab.training.model import ProjectionHead, TraceEncoder
from kernelpoint_lab.training.observations import Observations
from kernelpoint_lab.training.pairs import draw_order, draw_some, equal_pairs
from kernelpoint_lab.training.views import hide_tokens, hide_values, random_view


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
        graphs: one per distinct stream.
        config: settings.
        names: the kernel of each graph; without names every graph is a kernel of its own.
        start: the weights to start from; by default random ones.
    """

    def __init__(
        self,
        graphs: Sequence[TraceGraph],
        config: TrainingConfig,
        names: Sequence[str] = (),
        start: str | os.PathLike[str] | None = None,
        observations: Observations | None = None,
    ) -> None:
        if len(graphs) < 2:
            raise ConfigError(f"{len(graphs)} distinct stream(s) to train on; contrastive training needs at least 2")
        torch.set_num_threads(config.threads)
        self.graphs, self.config, self.epoch, self.seconds = graphs, config, 0, 0.0
        self.names = list(names) or [f"graph {number}" for number in range(len(graphs))]
        self._seed("weights")
        fresh = TraceEncoder(config.num_bases, config.dropout)
        self.encoder = (fresh if start is None else TraceEncoder.load(start)).to(config.device)
        self.head = ProjectionHead(config.dropout).to(config.device)
        self.encoder.readout.requires_grad_(False)
        parts: list[torch.nn.Module] = [self.encoder, self.head]
        self.observer: ObservationLoss | None = None
        if observations is not None and config.observed > 0:
            self.observer = ObservationLoss(observations, len(graphs), config.dropout).to(config.device)
            parts.append(self.observer)
        self.parameters = dict(torch.nn.ModuleList(parts).named_parameters())
        self.optimiser = torch.optim.AdamW(
            self.parameters.values(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        in_epoch = sum(min(count, config.per_kernel) for count in Counter(self.names).values())
        self.batches = max(1, in_epoch // config.batch_size)

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
        some = draw_some(self.names, self.config.per_kernel, random)
        order = some[draw_order([self.names[i] for i in some], self.config.together, random)]
        for number, chosen in enumerate(np.array_split(order, self.batches)):
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
        hidden = self.config.hidden_tokens
        seen = [hide_values(random_view(batch, random), random) for _ in range(2)]
        a, b = (self.encoder.structure(hide_tokens(view, hidden, random)) for view in seen)
        loss = self._loss(a, b, [self.names[i] for i in chosen])
        if self.observer is not None:
            loss = loss + self.config.observed * self.observer((a, b), chosen)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        with torch.no_grad():
            return float(loss), float(alignment(a, b)), float(uniformity(a))

    def _loss(self, a: torch.Tensor, b: torch.Tensor, names: Sequence[str]) -> torch.Tensor:
        """The contrastive loss of two views' embeddings, on what `loss_on` says.

        Model: the paper's loss looks at the projection head only, which leaves embeddings in a narrow cone where the amount of
        work drowns them. Looking at embeddings too spreads them; at a higher temperature, so that kernels which differ little
        stay neighbours (Wang and Liu, CVPR 2021).
        """
        config, same = self.config, equal_pairs(names).to(a.device)
        ignored = same if config.same_kernel == "ignored" else None
        positives = same if config.same_kernel == "positive" else None
        losses = []
        if config.loss_on != "embedding":
            losses.append(info_nce(self.head(a), self.head(b), config.temperature, ignored, positives))
        if config.loss_on != "head":
            losses.append(info_nce(a, b, config.embedding_temperature, ignored, positives))
        return torch.stack(losses).sum()

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
        """Writes the encoder alone, as `kernelpoint.encoder.checkpoint` reads it."""
        weights = {name: value.detach().cpu().numpy() for name, value in self.encoder.state_dict().items()}
        settings = {"num_bases": self.config.num_bases, "dropout": self.config.dropout}
        write_checkpoint(path, weights, settings, card | {"config": asdict(self.config)})
