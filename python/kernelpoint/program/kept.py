"""Columns of a program in an archive (kernelpoint.archive), as plans and selections keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelpoint.errors import shown
from kernelpoint.program.contents import RECORD, Contents
from kernelpoint.program.program import NO_SHAPE, Labels, Program
from kernelpoint.repeated import Texts, first_of_each

_CONTENTS = ("records", "keys", "stream_ids")
_INTEGERS = ("label", "content", "numbers", "stream", "start")


def kept(program: Program, columns: Sequence[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Parts of a program to store in a file: a description in JSON types, and arrays.

    They contain the kernel names and shapes, the given columns of the launches, and the distinct trace contents if `content` is
    one of the columns.

    >>> about, arrays = kept(Program.of(["gemm", "gemm"]), ["label"])
    >>> about["names"], arrays["launch_label"].tolist()
    (['gemm'], [0, 0])
    """
    labels, contents = program.labels, program.contents
    arrays = {f"launch_{name}": array for name in columns if (array := getattr(program, name)) is not None}
    arrays |= {"labels_names": labels.names.numbers, "labels_shapes": labels.shapes}
    if contents is None:
        arrays.pop("launch_content", None)
    elif "content" in columns:
        arrays |= {f"contents_{name}": getattr(contents, name) for name in _CONTENTS}
    return {"names": list(labels.names.distinct)}, arrays


def with_kept(program: Program, columns: Sequence[str], about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Program:
    """Program with the stored parts of another program of the same launches.

    Args:
        columns: names of the columns to restore.
        about, arrays: description and arrays made by `kept`.

    Raises:
        ValueError, LookupError: the parts contradict each other or the program.
    """
    size = program.size
    launches: dict[str, Any] = {name: arrays[f"launch_{name}"] for name in columns if f"launch_{name}" in arrays}
    labels = Labels(Texts(tuple(map(str, about["names"])), arrays["labels_names"]), arrays["labels_shapes"])
    count = len(labels.names.numbers)
    require("labels_names", labels.names.numbers, "i", (count,), len(labels.names.distinct))
    require("labels_shapes", labels.shapes, "i", (count, len(NO_SHAPE)))
    require("label", launches["label"], "i", (size,), count)
    for name, column in launches.items():
        require(name, column, "i" if name in _INTEGERS else "f", (size,))
    contents = None
    if ("content" in launches) != ("contents_records" in arrays):
        raise ValueError("it describes the traces, but not which trace each launch has, or the reverse")
    if "content" in launches:
        parts: dict[str, Any] = {name: arrays[f"contents_{name}"] for name in _CONTENTS}
        count = len(parts["records"])
        if parts["records"].dtype != RECORD:
            raise ValueError(f"`contents_records` has the type {shown(parts['records'].dtype)}; expected that of this version")
        require("contents_keys", parts["keys"], "u", (count, 3))
        require("content", launches["content"], "i", (size,), count)
        require("stream_ids", parts["stream_ids"], "i", (count,), count)
        first = first_of_each(launches["content"])
        if len(first) != count or min(first.min(initial=0), first_of_each(parts["stream_ids"]).min(initial=0)) < 0:
            raise ValueError("it describes traces that no launch has")
        traces = program.traces.of_rows(first) if len(program.traces) else ("",) * count
        contents = Contents(**parts, traces=traces)
    return replace(program, labels=labels, contents=contents, **launches)


def require(name: str, array: Any, kinds: str, shape: tuple[int, ...], most: int | None = None, least: int = -1) -> None:
    """Raise an error for an array in a file that has another type or shape, or a number outside of `least` to `most` - 1.

    Args:
        name: name of the array, for the message.
        array: value in the file.
        kinds: allowed kinds of numbers, as numpy's letters (`i` signed, `u` unsigned, `f` floating point).
        shape: size of each dimension.
        most, least: limits of the numbers; None for `most`: any number.

    Raises:
        ValueError: names the array and what is expected.

    >>> require("strata", np.array([0, 2]), "iu", (2,), most=2)
    Traceback (most recent call last):
    ...
    ValueError: `strata` has numbers from 0 to 2; allowed: -1 to 1
    """
    if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds or array.shape != shape:
        raise ValueError(f"`{name}` is {shown(array)}; expected numbers (type {' or '.join(kinds)}) of shape {shape}")
    if most is not None and array.size and not least <= array.min() <= array.max() < most:
        raise ValueError(f"`{name}` has numbers from {array.min()} to {array.max()}; allowed: {least} to {most - 1}")
