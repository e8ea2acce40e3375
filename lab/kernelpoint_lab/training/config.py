"""Settings of a training run."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import torch

from kernelpoint.errors import ConfigError
from kernelpoint_lab.training.loss import TEMPERATURE
from kernelpoint_lab.training.pairs import RULES

MOST = 1_000_000  # of any count among the settings
LOSS_ON = ("both", "head", "embedding")


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of a training run. The paper names AdamW and a cosine schedule; the numbers are ours (Model:).

    Attributes:
        epochs: passes over the graphs.
        batch_size: graphs in a batch; every other graph of the batch is a negative.
        same_kernel: what two graphs of one kernel, by its name, are to each other: "positive", "ignored", or "negative" as in
            the paper.
        loss_on: "head" is the paper's; "embedding" has the loss look at embeddings themselves, "both" at the two, added.
        embedding_temperature: tau of the loss on embeddings.
        together: graphs of one kernel that stand together in a batch, as far as there are that many; 1 draws evenly.
        per_kernel: graphs of one kernel in an epoch, at most; which ones is drawn for every epoch.
        learning_rate: its peak, after a linear warm-up over the first 5 % of the steps; a cosine down to zero follows.
        weight_decay: of AdamW.
        temperature: of InfoNCE.
        hidden_tokens: share of nodes whose tokens each view hides; see `views.hide_tokens`.
        observed: weight of the loss on what the fast model observes; 0 leaves it out.
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
    batch_size: int = 48
    same_kernel: str = "positive"
    loss_on: str = "both"
    embedding_temperature: float = 0.2
    together: int = 4
    per_kernel: int = 24
    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    temperature: float = TEMPERATURE
    hidden_tokens: float = 0.05
    observed: float = 0.0
    num_bases: int = 4
    dropout: float = 0.1
    seed: int = 0
    device: str = "cpu"
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "together", "per_kernel", "num_bases", "threads"):
            least = 2 if name == "batch_size" else 1
            if not least <= getattr(self, name) <= MOST:
                raise ConfigError(f"{name}: {getattr(self, name)} given, allowed is {least} to {MOST:,}")
        for name in ("dropout", "hidden_tokens"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name}: {getattr(self, name)} given, allowed is 0 up to, but not including, 1")
        for name in ("learning_rate", "temperature", "embedding_temperature"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name}: {getattr(self, name)} given, a finite number above 0 is needed")
        for name, allowed in (("same_kernel", RULES), ("loss_on", LOSS_ON)):
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name}: {getattr(self, name)!r} given, allowed are {', '.join(allowed)}")
        if not 0 <= self.observed < math.inf:
            raise ConfigError(f"observed: {self.observed} given, a finite number of at least 0 is needed")
        if not re.fullmatch(r"cpu|cuda(:\d+)?", self.device):
            raise ConfigError(f"device: {self.device!r} given, allowed are cpu, cuda and cuda:N")
        if self.device.startswith("cuda") and not torch.cuda.is_available():
            raise ConfigError(f"device: {self.device!r} given, but torch finds no CUDA device here; use cpu")
