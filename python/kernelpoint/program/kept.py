"""Columns of a program in an archive (kernelpoint.archive), as plans and selections keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

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
    names = Texts(tuple(map(str, about["names"])), arrays["labels_names"])
    labels = Labels(names, arrays["labels_shapes"])
    if labels.shapes.shape != (len(names.numbers), len(NO_SHAPE)) or labels.shapes.dtype.kind != "i":
        raise ValueError("the file is damaged: its kernel names and launch shapes have different lengths; make it again")
    _check("labels_names", names.numbers, len(names.numbers), len(names.distinct))
    _check("label", launches["label"], size, len(names.numbers))
    for name, column in launches.items():
        if column.shape != (size,) or column.dtype.kind != ("i" if name in _INTEGERS else "f"):
            raise ValueError(
                f"the file is damaged: `{name}` is an array of shape {column.shape} and type {column.dtype}; expected one "
                "number for each launch; make it again"
            )
    contents = None
    if ("content" in launches) != ("contents_records" in arrays):
        raise ValueError(
            "the file is damaged: it describes the traces, but not which trace each launch has, or the reverse; make it again"
        )
    if "content" in launches:
        parts: dict[str, Any] = {name: arrays[f"contents_{name}"] for name in _CONTENTS}
        count, streams = len(parts["records"]), parts["stream_ids"]
        if parts["records"].dtype != RECORD or parts["keys"].shape != (count, 3) or parts["keys"].dtype.kind != "u":
            raise ValueError(
                "the file is damaged: the arrays that describe its traces have wrong lengths or types; make it again"
            )
        _check("content", launches["content"], size, count)
        _check("stream_ids", streams, count, count)
        first = first_of_each(launches["content"])
        if len(first) != count or min(first.min(initial=0), first_of_each(streams).min(initial=0)) < 0:
            raise ValueError("the file is damaged: it describes traces that no launch has; make it again")
        traces = tuple(program.traces[launch] for launch in first.tolist()) if len(program.traces) else ("",) * count
        contents = Contents(**parts, traces=traces)
    return replace(program, labels=labels, contents=contents, **launches)


def _check(name: str, numbers: np.ndarray, size: int, most: int) -> None:
    """ValueError where an array has another size or type, or numbers that are not -1 to below `most`."""
    if numbers.shape != (size,) or numbers.dtype.kind != "i":
        raise ValueError(
            f"the file is damaged: `{name}` is an array of shape {numbers.shape} and type {numbers.dtype}; expected {size:,} "
            "whole numbers; make it again"
        )
    if len(numbers) and not -1 <= numbers.min() <= numbers.max() < most:
        raise ValueError(
            f"the file is damaged: `{name}` has numbers from {numbers.min()} to {numbers.max()}; allowed: -1 to {most - 1}; "
            "make it again"
        )
