"""Interface of the C++ extension (plugin/native/bindings)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

STREAM_HASH_VERSION: int
CONTENT_VERSION: int
FOOTPRINT_VERSION: int

class LaunchHeader:
    kernel_name: str  # as traced (mangled)
    kernel_id: int  # the tracer's number; a launch index is its position in the list instead
    grid: tuple[int, int, int]  # CTAs
    block: tuple[int, int, int]  # threads of a CTA
    shared_memory: int  # bytes of a CTA
    registers: int  # of a thread
    binary_version: int  # compute capability, 70 for sm_70
    stream_id: int  # CUDA stream; old tracers print part of a pointer, which may be negative
    shared_base: int  # address in the generic address space, of shared memory
    local_base: int  # of local memory
    nvbit_version: str  # of the trace's writer; empty or 0 where the header does not say
    tracer_version: int

# Model: global memory means what the L1 cache sees as data: global, local and texture opcodes, and generic ones outside the
# window of shared memory. A sector is 32 aligned bytes; sectors are summed over accesses.
class Work:
    instructions: int  # of warps
    thread_instructions: int  # active lanes summed over the instructions
    ctas: int  # as traced
    warps: int
    global_accesses: int  # warp instructions with at least one active lane
    shared_accesses: int
    unread_instructions: int  # of the instructions, those that their simulator leaves out
    sectors: int  # of global memory
    bytes: int  # requested from global memory, lanes times width
    by_unit: tuple[int, ...]  # instructions by unit, in the order of UNITS

# Counts of defects that a simulator accepts without a message, although it then simulates another program.
class Defects:
    zero_addresses: int  # accesses to global memory whose first lane has address 0, or none
    missing_warps: int  # of those that the blocks have
    empty_warps: int  # that execute nothing
    missing_barriers: int  # warps that run code behind a barrier which other warps of their CTA met more often
    repeated_ctas: int  # as many others are missing
    after_exit: int  # instructions of lanes that have exited
    missing_exits: int  # warps that execute something, but no EXIT

class Scan:
    header: LaunchHeader
    work: Work
    defects: Defects
    stream: str  # hash of the instruction sequence without addresses, 32 hexadecimal digits: equal for the same instructions,
    # strides, sectors and distances, whatever their buffers (plugin/native/trace/scan.h)
    values: str  # hash of all operand values; zeros where the trace has none. The stream does not cover them
    unknown_opcodes: dict[str, int]  # warp instructions of opcodes that are in no table; they count as unit "other"
    store_data_left_out: int  # instructions whose STORE_DATA fields, which one fork's tracer writes, were not read

class CtaIterator:
    header: LaunchHeader
    opcodes: tuple[str, ...]
    def __iter__(self) -> CtaIterator: ...
    def __next__(self) -> dict[str, Any]: ...

def trace_formats() -> tuple[str, ...]: ...
def trace_format(path: str) -> str: ...
def launch_name(path: str) -> str: ...
def is_list_name(path: str) -> bool: ...
def read_header(path: str) -> LaunchHeader: ...
def scan(path: str) -> Scan: ...

class MetContents:
    def __init__(self, contents: np.ndarray) -> None: ...

def scan_many(
    paths: Sequence[str],
    threads: int,
    met: MetContents,
    progress: Callable[[int], None] | None = None,
) -> tuple[np.ndarray, list[Scan | str | None]]: ...
def stat_many(paths: Sequence[str]) -> np.ndarray: ...
def footprint(path: str, residency: Sequence[int], by_sm: bool = False) -> tuple[np.ndarray, bytes]: ...

class Replay:
    def __init__(
        self,
        contents: np.ndarray,
        paths: Sequence[str],
        copies: np.ndarray,
        *,
        lines: int,
        residency: Sequence[int],
        with_copies: bool,
        counts_ctas: bool,
        first_reads: bool,
        by_sm: bool,
        predictor: tuple[int, int],
        caches: tuple[int, int, int, int, int, int],
        trained: bytes,
        memory: int,
        load: Callable[[str], bytes | None],
        save: Callable[[str, bytes], None],
        refuse: Callable[[str, str], None],
    ) -> None: ...
    @property
    def memory(self) -> int: ...
    def before(self, launch: int) -> dict[str, Any]: ...
    def lines_left(self, launch: int, most: int) -> list[int]: ...

def read_trace_list(path: str) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray]: ...
def read_ctas(path: str, keep_values: bool = False) -> CtaIterator: ...
def build_graph(path: str, max_nodes: int) -> dict[str, Any]: ...
def graph_schema() -> dict[str, Any]: ...

class Encoder:
    def __init__(self, tensors: dict[str, np.ndarray]) -> None: ...
    def embed(
        self,
        kinds: np.ndarray,
        tokens: np.ndarray,
        features: np.ndarray,
        edge_index: np.ndarray,
        edge_type: np.ndarray,
        warp_starts: np.ndarray,
        warp_weights: np.ndarray,
    ) -> np.ndarray: ...
    def embed_trace(self, path: str, max_nodes: int) -> np.ndarray: ...

def classify_opcode(text: str) -> dict[str, Any]: ...

class fast_model:  # noqa: N801 - a submodule
    MODEL_VERSION: str
    COUNTERS: tuple[str, ...]

    class Configuration:
        name: str
        hash: str
        simulator: str
        cores: tuple[tuple[int, int, int, int, int], tuple[int, int], tuple[int, int, int, int, int, int]] | None
        values: dict[str, int]
        text: str
        notes: list[str]

    class Walk:
        def __init__(self, list: str, configuration: fast_model.Configuration) -> None: ...
        @property
        def config_hash(self) -> str: ...
        @property
        def launches(self) -> int: ...
        def path(self, launch: int) -> str: ...
        def simulate(
            self, launch: int, touches: np.ndarray | None, interval: int, stops: Callable[..., int]
        ) -> tuple[int, int, tuple[int, ...], bool]: ...

    @staticmethod
    def derive(texts: Sequence[tuple[str, str]], base: str) -> fast_model.Configuration: ...
    @staticmethod
    def run(
        contents: np.ndarray,
        paths: Sequence[str],
        copies: np.ndarray,
        configuration: fast_model.Configuration,
        progress: Callable[[int, float], None],
        memory_bytes: int = ...,
        bytes: np.ndarray | None = ...,
        streams: np.ndarray | None = ...,
    ) -> tuple[np.ndarray, dict[str, np.ndarray], list[tuple[int, str]], int]: ...
    @staticmethod
    def alone(path: str, configuration: fast_model.Configuration) -> dict[str, int]: ...

class macsim:  # noqa: N801 - a submodule
    CODE_SIZE: int
    CORE_MODEL_VERSION: int
    REPLICATIONS: int

    class Digest:
        header: LaunchHeader
        content: str
        ctas_per_core: int
        warps: int
        records: int
        without_lanes: int
        approximated: dict[str, int]
        instructions: np.ndarray

    @staticmethod
    def digest(trace: str, check: Callable[[], None]) -> macsim.Digest: ...
    @staticmethod
    def each_warp(trace: str, code_base: int, check: Callable[[], None], take: Callable[[int, bytes], None]) -> None: ...
    @staticmethod
    def run_cores(
        paths: Sequence[str],
        configuration: fast_model.Configuration,
        memory_bytes: int,
        progress: Callable[[int, int], None],
    ) -> tuple[np.ndarray, bytes]: ...
