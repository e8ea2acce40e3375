"""Programs whose launches describe themselves, where a simulator has no traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelpoint.errors import HostError, shown
from kernelpoint.program.program import NO_SHAPE, Labels, Program
from kernelpoint.repeated import Repeated, Texts

LARGEST_AMOUNT = 1e300  # of a cost or a feature; sums over all launches stay finite
FIELDS = ("name", "shape", "key", "cost", "features")


def descriptions(launches: Sequence[Mapping[str, Any]]) -> Program:
    """Make a program (table of launches) from descriptions instead of traces: one mapping for each launch.

    Entries of a mapping, all optional (`kp_description` in kernelpoint/abi.h):

    * name: kernel name.
    * shape: integers, such as the extents of a grid or of a matrix product.
    * key: integer; equal keys other than 0 mean equal trace data.
    * cost: predicted cycles; used as a prediction if every launch has one.
    * features: amounts, as many for every launch.

    The amount of work of a launch is its cost, or else its first feature, or else the product of its shape, or else 1.

    Raises:
        HostError: an entry is unknown or has a wrong type, numbers of features differ, or a cost or a feature is negative or
            not finite. The message names the launch.

    >>> gemms = descriptions([{"name": "gemm", "shape": (64, 64, k)} for k in (8, 16, 8)])
    >>> gemms.signature.tolist(), gemms.amounts.tolist()
    ([0, 1, 0], [32768.0, 65536.0, 32768.0])
    """
    for launch, description in enumerate(launches):
        if unknown := sorted(set(description) - set(FIELDS)):
            raise HostError(
                f"description of launch {launch}: unknown field {shown(unknown[0])}; allowed: {', '.join(sorted(FIELDS))}"
            )
    try:
        features = np.array([[float(x) for x in description.get("features", ())] for description in launches], dtype=np.float64)
        return _program(
            [str(description.get("name", "")) for description in launches],
            [tuple(int(extent) for extent in description.get("shape", ())) for description in launches],
            np.array([int(description.get("key", 0)) for description in launches], dtype=np.uint64),
            np.array([float(description.get("cost", 0.0)) for description in launches], dtype=np.float64),
            features.reshape(len(launches), -1),
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise HostError(
            f"the descriptions of launches have wrong types ({error}); allowed: shape and features are sequences of numbers, "
            "as many features for every launch, cost a number, key an integer below 2**64"
        ) from None


def descriptions_in_columns(columns: Mapping[str, Any]) -> Program:
    """Make a program (table of launches) from descriptions in packed columns, the form in which a simulator sends them.

    Args:
        columns: names, and numbers as bytes.

    Raises:
        HostError: raised by `descriptions`.
    """
    names = list(columns["names"])
    extents = np.frombuffer(columns["extents"], np.uint32)
    shapes = np.split(np.frombuffer(columns["shapes"], np.int64), np.cumsum(extents)[:-1])
    return _program(
        names,
        [tuple(shape.tolist()) for shape in shapes],
        np.frombuffer(columns["keys"], np.uint64),
        np.frombuffer(columns["costs"], np.float64),
        np.frombuffer(columns["features"], np.float64).reshape(len(names), -1),
    )


def _program(
    names: Sequence[str], shapes: Sequence[tuple[int, ...]], keys: np.ndarray, costs: np.ndarray, features: np.ndarray
) -> Program:
    for name, values in (("cost", costs[:, None]), ("features", features)):
        bad = np.argwhere(~((values >= 0.0) & (values <= LARGEST_AMOUNT)))
        if len(bad):
            launch, column = bad[0].tolist()
            raise HostError(
                f"description of launch {launch}: {name} is {values[launch, column]}; allowed: 0 (unknown) to "
                f"{LARGEST_AMOUNT:g}"
            )
    size = len(names)
    labels, label = Labels.of(Texts.of(names), np.broadcast_to(NO_SHAPE, (size, len(NO_SHAPE))))
    numbers: dict[Any, int] = {}
    signature = [numbers.setdefault(row, len(numbers)) for row in zip(names, shapes, keys.tolist(), strict=True)]
    volume = np.array([float(np.prod(np.abs(shape), dtype=np.float64)) for shape in shapes])
    first = features[:, 0] if features.shape[1] else np.zeros(size)
    amounts = next((amount for amount in (costs, first, volume) if (amount > 0.0).all()), np.maximum(volume, 1.0))
    contents = np.unique(keys, return_inverse=True)[1].ravel()
    is_costed = bool((costs > 0.0).all())
    return Program(
        (size,),
        labels=labels,
        label=label,
        content=np.where(keys == 0, -1, contents).astype(np.int32),
        source="the simulator's descriptions",
        keys=np.array(signature, dtype=np.int64),
        amounts=amounts,
        counters={"cycles": costs} if is_costed else {},
        predictions=Repeated(None, {"cycles": costs}) if is_costed else None,
    )
