"""Launches that describe themselves, where a simulator has no traces: what strata and predictions are then made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelpoint.errors import HostError, shown
from kernelpoint.program import Program
from kernelpoint.repeated import Texts

REPEATS = 10  # launches of one key, in the mean, with which every key is simulated: at most 10 % of the launches
LARGEST_AMOUNT = 1e300  # of a cost or a feature; sums over all launches stay finite


@dataclass(frozen=True, eq=False)
class Descriptions:
    """Descriptions of the launches of all processes, in their order (`kp_description` in kernelpoint/abi.h).

    Attributes:
        names: of the kernel, layer or operator of each launch; empty where unknown.
        shapes: extents of each launch's work; empty where unknown.
        keys: uint64 [N], of each launch's content: equal for launches that do the same work; 0 where unknown.
        costs: float64 [N], predicted cycles; 0 where unknown.
        features: float64 [N, F], other amounts; the first is one that the cost grows with.
        is_deterministic: launches of one key have equal results.

    Raises:
        HostError: a cost or a feature is negative or not finite; the message names the launch.

    >>> gemms = Descriptions.of([{"name": "gemm", "shape": (64, 64, k)} for k in (8, 16, 8)])
    >>> gemms.signature.tolist(), gemms.work.tolist()
    ([0, 1, 0], [32768.0, 65536.0, 32768.0])
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    keys: np.ndarray
    costs: np.ndarray
    features: np.ndarray
    is_deterministic: bool = False

    def __post_init__(self) -> None:
        for name, values in (("cost", self.costs[:, None]), ("features", self.features)):
            bad = np.argwhere(~((values >= 0.0) & (values <= LARGEST_AMOUNT)))
            if len(bad):
                launch, column = bad[0].tolist()
                raise HostError(
                    f"description of launch {launch}: {name} is {values[launch, column]}; allowed: 0 (unknown) to "
                    f"{LARGEST_AMOUNT:g}"
                )

    @classmethod
    def of(cls, launches: list[Mapping[str, Any]]) -> Descriptions:
        """Make descriptions from one mapping for each launch, with any of name, shape, key, cost, features.

        Raises:
            HostError: a mapping has another entry, or one of another type, or launches have different numbers of features.
        """
        fields = {"name", "shape", "key", "cost", "features"}
        for launch, description in enumerate(launches):
            if unknown := sorted(set(description) - fields):
                raise HostError(
                    f"description of launch {launch}: got {shown(unknown[0])}; allowed: {', '.join(sorted(fields))}"
                )
        try:
            features = np.array(
                [[float(x) for x in description.get("features", ())] for description in launches], dtype=np.float64
            )
            return cls(
                tuple(str(description.get("name", "")) for description in launches),
                tuple(tuple(int(extent) for extent in description.get("shape", ())) for description in launches),
                np.array([int(description.get("key", 0)) for description in launches], dtype=np.uint64),
                np.array([float(description.get("cost", 0.0)) for description in launches], dtype=np.float64),
                features.reshape(len(launches), -1),
            )
        except (TypeError, ValueError, OverflowError) as error:
            raise HostError(
                f"descriptions of launches: {error}; allowed: shape and features are sequences of numbers, as many "
                "features for every launch, cost a number, key an integer below 2**64"
            ) from None

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any]) -> Descriptions:
        """Make descriptions from packed columns as the C++ side sends them: names, and numbers as bytes."""
        names = tuple(columns["names"])
        extents = np.frombuffer(columns["extents"], np.uint32)
        shapes = np.split(np.frombuffer(columns["shapes"], np.int64), np.cumsum(extents)[:-1])
        return cls(
            names,
            tuple(tuple(shape.tolist()) for shape in shapes),
            np.frombuffer(columns["keys"], np.uint64),
            np.frombuffer(columns["costs"], np.float64),
            np.frombuffer(columns["features"], np.float64).reshape(len(names), -1),
        )

    @property
    def size(self) -> int:
        """Number of launches N."""
        return len(self.names)

    @property
    def repeats_exactly(self) -> bool:
        """True if there are so few distinct keys that simulating one launch of each, which gives the exact total, is a small
        sample.
        """
        return self.is_deterministic and bool(self.keys.all()) and REPEATS * len(np.unique(self.keys)) <= self.size

    @property
    def has_costs(self) -> bool:
        """True if every launch has a predicted cost."""
        return bool((self.costs > 0.0).all())

    @cached_property
    def signature(self) -> np.ndarray:
        """int64 [N]: equal numbers for launches of equal name, shape and key, in the order of first launches."""
        numbers: dict[Any, int] = {}
        rows = zip(self.names, self.shapes, self.keys.tolist(), strict=True)
        return np.array([numbers.setdefault(row, len(numbers)) for row in rows], dtype=np.int64)

    @cached_property
    def work(self) -> np.ndarray:
        """float64 [N]: work of each launch in any unit: its cost, else its first feature, else the product of its shape.

        Model: extents multiply, as those of a grid or of a GEMM do; a launch without any of them counts 1.
        """
        volume = np.array([float(np.prod(np.abs(shape), dtype=np.float64)) for shape in self.shapes])
        first = self.features[:, 0] if self.features.shape[1] else np.zeros(self.size)
        candidates = (self.costs, first, volume)
        amounts = next((amount for amount in candidates if (amount > 0.0).all()), None)
        return np.maximum(volume, 1.0) if amounts is None else amounts

    def profile(self) -> Program:
        """Convert the descriptions to a profile: names, signatures, and the costs as cycles if every launch has one."""
        return Program(
            (self.size,),
            names=Texts.of(self.names),
            source="the simulator's descriptions",
            counters={"cycles": self.costs} if self.has_costs else {},
            keys=self.signature,
        )
