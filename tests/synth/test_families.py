"""Every family, at small and odd sizes, against the independent checker and the native reader; addresses."""

import tarfile
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import zstandard
from accelsim_rules import GLOBAL, SHARED, Trace, base, lanes, mode, mode_of_tracer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorded_traces import ACCELSIM, shared

from kernelpoint import _native
from kernelpoint.randomness import generator
from kernelpoint_lab.synth.families import FAMILIES, SCALES
from kernelpoint_lab.synth.lanes import encode
from kernelpoint_lab.synth.launch import Launch, Memory
from kernelpoint_lab.synth.writer import TRACER_VERSIONS, Written, write_trace

# Sizes that leave partial warps, partial CTAs and partial tiles.
ODD = {
    "copy": {"n": 700, "width": 8}, "axpy": {"n": 333, "block": 64, "width": 2},
    "stencil": {"rows": 19, "columns": 45, "width": 8}, "reduction": {"n": 2500, "block": 128},
    "gemm": {"m": 70, "n": 72, "k": 32}, "gemv": {"rows": 37, "columns": 272}, "softmax": {"rows": 6, "columns": 45},
    "layer_norm": {"rows": 3, "columns": 300}, "scan": {"n": 700}, "attention": {"heads": 2, "length": 75},
    "convolution": {"batch": 2, "channels": 3, "size": 7}, "pooling": {"channels": 5, "size": 6},
    "gather": {"rows": 13, "columns": 24}, "spmv": {"rows": 300, "width": 8}, "bfs": {"rows": 500},
    "histogram": {"n": 3000, "bins": 50}, "program": {"ctas": 3, "trips": 2},
}  # fmt: skip


def build(name: str, seed: int = 0, scale: str = "small", **sizes: int) -> Launch:
    family = FAMILIES[name]
    return family.build(Memory(), generator(seed, "synth"), {**family.defaults(scale), **sizes})


def write(launch: Launch, folder: Path, version: int = 3) -> tuple[Trace, Written]:
    path = folder / "kernel-1.traceg"
    written = write_trace(launch, path, 1, version)
    return Trace(path), written


def assert_addresses_lie_in_tensors(trace: Trace, launch: Launch) -> None:
    spans = [(t.base, t.base + t.bytes) for t in launch.tensors]
    for i in trace.instructions():
        if base(i) in ("LDS", "STS", "ATOMS"):
            assert all(a >= 0 and a + i.width <= launch.shared for a in i.addresses), i
        for a in i.addresses if base(i) in ("LDG", "STG", "RED", "ATOMG") else []:
            assert any(low <= a and a + i.width <= high for low, high in spans), i


def assert_native_reader_agrees(trace: Trace, written: Written, launch: Launch) -> None:
    scan = _native.scan(str(trace.path))
    assert (tuple(scan.header.grid), tuple(scan.header.block)) == (launch.grid, launch.block)
    assert (scan.header.kernel_name, scan.header.shared_memory) == (launch.kernel, launch.shared)
    work = scan.work
    assert (work.instructions, work.thread_instructions) == (written.warp_instructions, written.thread_instructions)
    assert (work.ctas, work.warps) == (launch.ctas, launch.ctas * launch.warps_per_cta)
    bases = [base(i) for i in trace.instructions() if i.mask]
    assert work.global_accesses == sum(base in GLOBAL for base in bases)
    assert work.shared_accesses == sum(base in SHARED for base in bases)


def assert_counts_are_true(trace: Trace, written: Written, launch: Launch) -> None:
    instructions = trace.instructions()
    assert written.warp_instructions == len(instructions)
    assert written.thread_instructions == sum(i.mask.bit_count() for i in instructions)
    assert written.bytes == trace.path.stat().st_size
    assert len(trace.ctas) == launch.ctas


def test_odd_sizes_are_given_for_every_family() -> None:
    assert set(ODD) == set(FAMILIES)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_obeys_the_rules_of_the_readers_and_of_execution(name: str, tmp_path: Path) -> None:
    launch = build(name, **ODD[name])
    trace, written = write(launch, tmp_path)
    assert_addresses_lie_in_tensors(trace, launch)
    assert_counts_are_true(trace, written, launch)
    assert_native_reader_agrees(trace, written, launch)


@pytest.mark.parametrize("name", FAMILIES)
def test_one_kernel_has_one_program_at_any_size(name: str, tmp_path: Path) -> None:
    odd = build(name, **ODD[name])
    halves = {key: size if key in ("block", "width") else (size + 1) // 2 for key, size in ODD[name].items()}
    other = build(name, seed=1, **halves)
    assert odd.kernel == other.kernel
    first, second = write(odd, tmp_path)[0].program(), write(other, tmp_path)[0].program()
    assert all(first[pc] == second[pc] for pc in first.keys() & second.keys())


@pytest.mark.parametrize("name", [name for name, f in FAMILIES.items() if len(f.widths) > 1])
def test_every_element_width_is_written(name: str, tmp_path: Path) -> None:
    for width in FAMILIES[name].widths:
        launch = build(name, **{**ODD[name], "width": width})
        assert_addresses_lie_in_tensors(write(launch, tmp_path)[0], launch)


@pytest.mark.parametrize("version", TRACER_VERSIONS)
def test_every_tracer_version_is_written(version: int, tmp_path: Path) -> None:
    trace, _ = write(build("spmv", **ODD["spmv"]), tmp_path, version)
    assert trace.version == version
    assert ("enable lineinfo" in trace.header) == (version >= 4)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_large_family_has_a_thousand_ctas(name: str) -> None:
    defaults = FAMILIES[name].defaults("large")
    assert SCALES[-1] == "large" and list(defaults) == list(FAMILIES[name].parameters)
    assert build(name, scale="large").ctas >= 1000


def test_sparse_rows_and_frontiers_diverge(tmp_path: Path) -> None:
    for name in ("spmv", "bfs"):
        trace, written = write(build(name, rows=1000), tmp_path)
        assert written.thread_instructions < 28 * written.warp_instructions
        assert any(mode(i) == 2 for i in trace.instructions())


def test_tiled_products_use_the_right_units(tmp_path: Path) -> None:
    def opcodes(width: int) -> set[str]:
        return {base(i) for i in write(build("gemm", m=64, n=64, k=16, width=width), tmp_path)[0].instructions()}

    assert {"HMMA", "LDS", "STS", "BAR"} <= opcodes(2) and "HMMA" not in opcodes(4) and "FFMA" in opcodes(4)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(["copy", "reduction", "scan", "spmv", "bfs", "histogram"]),
       count=st.integers(1, 600), warps=st.sampled_from([2, 4, 8]), seed=st.integers(0, 3))  # fmt: skip
def test_any_size_obeys_the_rules(name: str, count: int, warps: int, seed: int, tmp_path: Path) -> None:
    size = "n" if "n" in FAMILIES[name].parameters else "rows"
    launch = build(name, seed, **{size: count, "block": 32 * warps})
    trace, written = write(launch, tmp_path)
    assert_addresses_lie_in_tensors(trace, launch)
    assert_counts_are_true(trace, written, launch)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(number=st.integers(1, 1 << 30), ctas=st.integers(1, 3), block=st.sampled_from([32, 96, 128]))
def test_any_random_program_obeys_the_rules(number: int, ctas: int, block: int, tmp_path: Path) -> None:
    launch = build("program", number=number, ctas=ctas, block=block)
    trace, written = write(launch, tmp_path)
    assert_addresses_lie_in_tensors(trace, launch)
    assert_counts_are_true(trace, written, launch)


def decode(text: str, mask: int) -> list[int]:
    mode, base, *rest = text.split()
    count = mask.bit_count()
    if mode == "0":
        return [int(word, 16) for word in (base, *rest)]
    if mode == "1":
        return [int(base, 16) + n * int(rest[0]) for n in range(count)]
    return np.cumsum([int(base, 16), *map(int, rest)]).tolist()


ADDRESS = st.one_of(st.integers(0, 2**47), st.integers(0x7F0000000000, 0x7F0000000400))
ROW = st.one_of(
    st.lists(ADDRESS, min_size=32, max_size=32),
    st.builds(lambda base, step: [base + lane * step for lane in range(32)], ADDRESS, st.integers(0, 4096)),
)


@given(st.lists(st.tuples(ROW, st.integers(0, 2**32 - 1)), min_size=1, max_size=5))
def test_encoded_addresses_decode_to_themselves_in_the_mode_of_the_tracer(
    warps: list[tuple[list[int], int]],
) -> None:
    masks = [mask for _, mask in warps]
    addresses = np.array([row for row, _ in warps], dtype=np.int64)
    texts = encode(addresses, np.array([[mask >> lane & 1 for lane in range(32)] for mask in masks], dtype=bool))
    for row, mask, text in zip(addresses.tolist(), masks, texts, strict=True):
        active = [row[lane] for lane in lanes(mask)]
        assert decode(text, mask) == active
        assert int(text[0]) == mode_of_tracer(mask, active)


def real_accesses(archive: Path, files: int, lines: int) -> list[tuple[str, str]]:
    """(mask, address fields) of memory instructions in the first traces of an archive."""
    accesses: list[tuple[str, str]] = []
    with archive.open("rb") as packed:
        stream = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(packed)
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in islice((m for m in tar if m.name.endswith(".traceg")), files):
                text = tar.extractfile(member)
                for line in (text.read().decode() if text else "").splitlines()[:lines]:
                    words = line.split()
                    at = 4 if len(words) > 4 and words[2] == "1" else 3
                    if len(words) > 6 and words[at].split(".")[0] in GLOBAL | SHARED:
                        accesses.append((words[1], " ".join(words[at + 3 + int(words[at + 1]) :])))
    return accesses


@pytest.mark.parametrize("name", ["simpletorch3", "rodinia_bfs"])
def test_recorded_accesses_are_compressed_the_same_way(name: str) -> None:
    accesses = real_accesses(shared(f"{ACCELSIM}/{name}.tar.zst"), files=6, lines=20_000)
    assert accesses
    for mask_text, text in accesses:
        mask = int(mask_text, 16)
        row = np.zeros((1, 32), dtype=np.int64)
        active = lanes(mask)
        row[0, active] = decode(text, mask)
        bits = np.isin(np.arange(32), active)[None, :]
        assert encode(row, bits) == [text]
