"""Executes a warp program for many warps at once and renders the trace lines a tracer would have recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat

import numpy as np

from kernelpoint_lab.synth.lanes import Addresses, Scope
from kernelpoint_lab.synth.launch import Launch
from kernelpoint_lab.synth.registers import Registers, access_width

PC_STEP = 16  # bytes per Volta instruction


class Warps:
    """The warps of the CTAs first ... last - 1 of a launch, in lock step; values are arrays that broadcast to [W, 32].

    A program calls `op`, `load`, `store`, `atomic` for instructions and `branch`, `predicated`, `loop`, `exit_where`
    for control. Operands are register names; a name gets its register when first seen. Program counters follow program
    order, and a loop's body keeps its own on every iteration. Bodies always run, with no lane active where nothing
    takes the branch, so that program counters do not depend on data.

    Model: the destination of SHFL and of atomics is given as destination. NVBit tracers of version 3 list it among the
    sources, which loses the dependence.
    """

    def __init__(self, launch: Launch, first: int, last: int, tail: str = "") -> None:
        per_cta = launch.warps_per_cta
        cta = np.repeat(np.arange(first, last, dtype=np.int64), per_cta)[:, None]
        x, y, _ = launch.grid
        self.launch, self.count, self.block = launch, len(cta), launch.threads
        self.cta, self.cta_x, self.cta_y, self.cta_z = cta, cta % x, cta // x % y, cta // (x * y)
        self.warp = np.tile(np.arange(per_cta, dtype=np.int64), last - first)[:, None]
        self.lane = np.arange(32, dtype=np.int64)[None, :]
        self.thread = self.warp * 32 + self.lane
        self.pc = 0
        self.registers = Registers()
        self.instructions = np.zeros(self.count, dtype=np.int64)
        self.lanes = 0  # thread instructions
        self._end = tail + "\n"
        self._scope = Scope(self.thread < launch.threads)
        self._columns: list[str | list[str]] = []
        self._parts = [""]
        self.op("MOV", "stack")

    # Instructions

    def op(self, opcode: str, destination: str | None = None, *sources: str) -> None:
        """Add an instruction that accesses no traced memory."""
        self._parts[-1] += f"{self.pc:04x} "
        self._parts.append(self.registers.operands(opcode, destination, sources) + "0 " + self._end)
        self.pc += PC_STEP

    def load(self, opcode: str, destination: str, address: str, at: np.ndarray | Addresses) -> None:
        """Add a load: `address` is the register (or pair) with the address, `at` are the byte addresses."""
        self._memory(opcode, destination, (address,), at)

    def store(self, opcode: str, address: str, value: str, at: np.ndarray | Addresses) -> None:
        """Add a store, or a reduction without a result (RED)."""
        self._memory(opcode, None, (address, value), at)

    def atomic(self, opcode: str, destination: str, sources: Sequence[str], at: np.ndarray | Addresses) -> None:
        """Add an atomic that returns the old value (ATOMG, ATOMS); sources are the address and the operands."""
        self._memory(opcode, destination, sources, at)

    def addresses(self, values: np.ndarray) -> Addresses:
        """Encode byte addresses once, for several accesses."""
        return Addresses(values, self.count)

    def _memory(self, opcode: str, destination: str | None, sources: Sequence[str], at: np.ndarray | Addresses) -> None:
        self._flush()
        fields = (at if isinstance(at, Addresses) else Addresses(at, self.count)).encoded(self._scope)
        middle = f"{self.registers.operands(opcode, destination, sources)}{access_width(opcode)} "
        self._emit(middle, fields, [" " + self._end] * self.count)

    def _emit(self, middle: str, fields: list[str], ends: list[str]) -> None:
        """Render one instruction: a line for each warp that issues it."""
        scope, start = self._scope, f"{self.pc:04x} "
        rows = zip(scope.masks, fields, ends, strict=True)
        self._columns.append([start + mask + middle + field + end if mask else "" for mask, field, end in rows])
        self.instructions += scope.present
        self.lanes += int(scope.mask.sum())
        self.pc += PC_STEP

    # Control

    @property
    def active(self) -> np.ndarray:
        """Lanes that execute at the present point of the program, bool [W, 32]."""
        return self._scope.mask

    @contextmanager
    def predicated(self, condition: np.ndarray) -> Iterator[None]:
        """Instructions under a predicate: issued by the same warps, executed by the lanes where it holds."""
        outer = self._scope
        self._enter(Scope(outer.mask & condition, outer.present))
        yield
        self._enter(outer)

    @contextmanager
    def branch(self, condition: np.ndarray) -> Iterator[None]:
        """A branch around the body: only warps with a lane that takes it issue the body; the lanes meet again after."""
        outer = self._scope
        self.op("BSSY")
        with self.predicated(~np.broadcast_to(condition, outer.mask.shape)):
            self.op("BRA")
        self._enter(Scope(outer.mask & condition))
        yield
        self._enter(outer)
        self.op("BSYNC")

    def loop(self, trips: np.ndarray | int, counter: str = "count") -> Iterator[int]:
        """Run the body for iteration 0, 1, ... while `trips` exceeds it, lane by lane (do-while, at least one trip).

        `trips` of 0 leaves lanes out: guard such a loop by `branch`. The counter, the comparison and the backward branch
        are part of the loop.
        """
        outer = self._scope
        trips = np.where(outer.mask, trips, 0)
        most = max(int(trips.max(initial=0)), 1)
        self.op("MOV", counter, "RZ")
        start, inside = self.pc, Scope(trips > 0)
        for i in range(most):
            self.pc = start
            self._enter(inside)
            yield i
            self.op("IADD3", counter, counter, "RZ")
            self.op("ISETP.GE.AND", None, counter)
            following = Scope(trips > i + 1)
            with self.predicated(following.mask):
                self.op("BRA")
            inside = inside if inside.same(following) else following
        self._enter(outer)

    def exit_where(self, condition: np.ndarray) -> None:
        """A guarded EXIT: the lanes where the condition holds leave. Not inside a branch or loop."""
        outer = self._scope
        with self.predicated(condition):
            self.op("EXIT")
        self._enter(Scope(outer.mask & ~np.broadcast_to(condition, outer.mask.shape)))

    def _enter(self, scope: Scope) -> None:
        if not scope.same(self._scope):
            self._flush()
        self._scope = scope

    # Rendering

    def _flush(self) -> None:
        """Turn the pending run of instructions under one scope into a column: text for all warps, or one per warp."""
        issued, scope = len(self._parts) - 1, self._scope
        if not issued:
            return
        texts = {mask: mask.join(self._parts) if mask else "" for mask in scope.distinct}
        self._columns.append(next(iter(texts.values())) if len(texts) == 1 else [texts[m] for m in scope.masks])
        self.instructions += issued * scope.present
        self.lanes += issued * int(scope.mask.sum())
        self._parts = [""]

    def finish(self) -> list[str]:
        """End the program with EXIT; returns each warp's instruction lines."""
        self.op("EXIT")
        self._flush()
        columns = [repeat(c, self.count) if isinstance(c, str) else c for c in self._columns]
        return list(map("".join, zip(*columns, strict=True)))
