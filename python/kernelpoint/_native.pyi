"""Interface of the C++ extension (plugin/native/bindings)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

STREAM_HASH_VERSION: int
CONTENT_VERSION: int
FOOTPRINT_VERSION: int

class LaunchHeader:
    kernel_name: str
    kernel_id: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_memory: int
    registers: int
    binary_version: int
    stream_id: int
    shared_base: int
    local_base: int
    nvbit_version: str
    tracer_version: int

class Work:
    instructions: int
    thread_instructions: int
    ctas: int
    warps: int
    global_accesses: int
    shared_accesses: int
    sectors: int
    bytes: int
    by_unit: tuple[int, ...]

class Defects:
    zero_addresses: int
    missing_warps: int
    empty_warps: int
    missing_barriers: int
    repeated_ctas: int
    after_exit: int
    missing_exits: int

class Scan:
    header: LaunchHeader
    work: Work
    defects: Defects
    stream: str
    values: str
    unknown_opcodes: dict[str, int]
    store_data_left_out: int

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
    def each_warp(
        trace: str, code_base: int, check: Callable[[], None], take: Callable[[int, bytes], None]
    ) -> None: ...
    @staticmethod
    def run_cores(
        paths: Sequence[str],
        configuration: fast_model.Configuration,
        memory_bytes: int,
        progress: Callable[[int, int], None],
    ) -> tuple[np.ndarray, bytes]: ...
