"""Settings of a training run."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import torch

from kernelpoint.errors import ConfigError
from kernelpoint_lab.training.loss import TEMPERATURE

MOST = 1_000_000  # of any count among the settings


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of a training run. The paper names AdamW and a cosine schedule; the numbers are ours (Model:).

    Attributes:
        epochs: passes over the graphs.
        max_nodes: bound on the nodes of a graph in training.
        batch_size: graphs in a batch; every other graph of the batch is a negative.
        learning_rate: its peak, after a linear warm-up over the first 5 % of the steps; a cosine down to zero follows.
        weight_decay: of AdamW.
        temperature: of InfoNCE.
        num_bases, dropout: of the encoder.
        seed: of weights, order, views and dropout.
        device: "cpu" or "cuda".
        threads: torch's threads on the CPU.

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
