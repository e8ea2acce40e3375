"""Facts of one launch that reading its trace gives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelpoint import _native
from kernelpoint.errors import TraceError
from kernelpoint.program import DEFECTS, UNKNOWN, Labels, Program
from kernelpoint.repeated import Texts

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class LaunchShape:
    """Kernel name, grid, block and other sizes of a launch.

    Attributes:
        kernel_name: as traced (mangled).
        grid, block: CTAs of the grid and threads of a CTA, (x, y, z).
        shared_memory: bytes per CTA.
        registers: per thread.

    Example:
        >>> LaunchShape("_Z4axpyv", (8, 1, 1), (256, 1, 1), shared_memory=0, registers=16).grid
        (8, 1, 1)
    """

    kernel_name: str
    grid: Dim3
    block: Dim3
    shared_memory: int
    registers: int


@dataclass(frozen=True)
class LaunchHeader:
    """Header of a trace: the facts of a launch before its instructions.

    Attributes:
        shape: kernel and layout.
        kernel_id: the tracer's number; a launch index is its position in the list instead.
        binary_version: compute capability, 70 for sm_70.
        stream_id: CUDA stream; old tracers print part of a pointer, which may be negative.
        shared_base, local_base: addresses of shared and local memory in the generic address space.
        nvbit_version, tracer_version: of the trace's writer; empty and 0 where the header does not say.

    Example:
        >>> header = read_header("traces/kernel-1.traceg")
        >>> header.kernel_id, header.shape.block
        (1, (256, 1, 1))
    """

    shape: LaunchShape
    kernel_id: int
    binary_version: int
    stream_id: int
    shared_base: int
    local_base: int
    nvbit_version: str
    tracer_version: int


@dataclass(frozen=True)
class Work:
    """Amounts of work of a launch: instructions by kind, accesses, sectors.

    ``Model:`` global memory means what the L1 cache sees as data: global, local and texture opcodes, and generic ones
    outside the window of shared memory. A sector is 32 aligned bytes; sectors are summed over accesses.

    Attributes:
        instructions: executed by warps.
        thread_instructions: active lanes summed over the instructions.
        ctas, warps: as traced.
        global_accesses, shared_accesses: warp instructions with at least one active lane.
        sectors: of global memory.
        bytes: requested from global memory, lanes times width.
        unread_instructions: of the instructions, those that their simulator leaves out.
        by_unit: warp instructions by unit, in the order of UNITS.

    Example:
        >>> work = scan_trace("traces/kernel-1.traceg").work
        >>> work.ctas, work.warps, sum(work.by_unit) == work.instructions
        (8, 64, True)
    """

    instructions: int
    thread_instructions: int
    ctas: int
    warps: int
    global_accesses: int
    shared_accesses: int
    sectors: int
    bytes: int
    unread_instructions: int
    by_unit: tuple[int, ...]


@dataclass(frozen=True)
class Defects:
    """Counts of defects that a simulator accepts without a message, although it then simulates another program.

    Attributes:
        zero_addresses: accesses to global memory whose first lane reads or writes address 0.
        missing_warps: of those that the blocks have.
        empty_warps: that execute nothing.
        missing_barriers: warps that run code behind a barrier which other warps of their CTA met more often.
        repeated_ctas: as many others are missing.
        after_exit: instructions of lanes that have exited.
        missing_exits: warps that execute something, but no EXIT.

    Example:
        >>> scan_trace("traces/kernel-1.traceg").defects.missing_warps
        0
    """

    zero_addresses: int
    missing_warps: int
    empty_warps: int
    missing_barriers: int
    repeated_ctas: int
    after_exit: int
    missing_exits: int


@dataclass(frozen=True)
class Scan:
    """Result of reading a trace: header, work, defects, and the hash of its instruction sequence without addresses (32
    hexadecimal digits).

    Launches with the same instructions, strides, sectors and distances have equal hashes, whatever their buffers
    (plugin/native/trace/scan.h).

    Attributes:
        unknown_opcodes: warp instructions of opcodes that are in no table, by opcode text; they count as unit "other".
        store_data_left_out: instructions whose STORE_DATA fields, which one fork's tracer writes, were not read.
        values: hash of all operand values, 32 hexadecimal digits; zeros where the trace has none. The stream does not cover
            them: launches of one stream that differ in values stay one stream.

    Example:
        >>> scan = scan_trace("traces/kernel-1.traceg")
        >>> len(scan.stream), scan.unknown_opcodes
        (32, {})
    """

    header: LaunchHeader
    work: Work
    defects: Defects
    stream: str
    unknown_opcodes: dict[str, int]
    store_data_left_out: int
    values: str


def read_header(path: str | os.PathLike[str]) -> LaunchHeader:
    """Read only the header of a trace; raises TraceError.

    >>> shape = read_header("traces/kernel-1.traceg").shape
    >>> shape.kernel_name, shape.grid, shape.block
    ('axpy_f32', (8, 1, 1), (256, 1, 1))
    """
    return header_from_native(_native.read_header(os.fspath(path)))


def read_labels(traces: Sequence[str]) -> Program:
    """Read names and shapes of launches from the headers of their traces; an unreadable trace has a name that no launch has.

    >>> read_labels(["traces/kernel-1.traceg"]).names[0]
    'axpy_f32'
    """
    texts = Texts.of(traces)
    names, shapes = [], []
    for path in texts.distinct:
        try:
            shape = read_header(path).shape
            names.append(shape.kernel_name)
            shapes.append((*shape.grid, *shape.block, UNKNOWN, UNKNOWN))
        except TraceError:
            names.append(f"unreadable {path}")
            shapes.append((0, 0, 0, 0, 0, 0, UNKNOWN, UNKNOWN))
    labels, of_trace = Labels.of(Texts.of(names), np.array(shapes, dtype=np.int64).reshape(-1, 8))
    label = np.append(of_trace, np.int32(-1))[texts.numbers]
    return Program((len(texts),), labels=labels, label=label, traces=texts)


def scan_trace(path: str | os.PathLike[str]) -> Scan:
    """Read a trace once, without the cache. A launch stored as a folder is named by its ``trace.txt``.

    A trace format may hold less than another, so that the same launch gives another stream and another graph there.

    Raises:
        TraceError: the trace is missing, truncated, damaged or of an unknown tracer version; names file and line.

    Example:
        >>> scan_trace("no-such.traceg")
        Traceback (most recent call last):
        kernelpoint.errors.TraceError: no-such.traceg: cannot be opened: No such file or directory
    """
    scan = _native.scan(os.fspath(path))
    work = scan.work
    return Scan(
        header=header_from_native(scan.header),
        work=Work(**{name: getattr(work, name) for name in Work.__dataclass_fields__}),
        defects=Defects(**{name: getattr(scan.defects, name) for name in DEFECTS}),
        stream=scan.stream,
        unknown_opcodes=scan.unknown_opcodes,
        store_data_left_out=scan.store_data_left_out,
        values=scan.values,
    )


def shape_from_native(header: _native.LaunchHeader) -> LaunchShape:
    """Convert the shape in a header of the extension module."""
    return LaunchShape(header.kernel_name, header.grid, header.block, header.shared_memory, header.registers)


def header_from_native(header: _native.LaunchHeader) -> LaunchHeader:
    """Convert a header of the extension module into a dataclass."""
    return LaunchHeader(
        shape=shape_from_native(header),
        kernel_id=header.kernel_id,
        binary_version=header.binary_version,
        stream_id=header.stream_id,
        shared_base=header.shared_base,
        local_base=header.local_base,
        nvbit_version=header.nvbit_version,
        tracer_version=header.tracer_version,
    )
