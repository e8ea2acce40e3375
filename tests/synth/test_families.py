"""Every family, at small and odd sizes, against the independent checker and the native reader."""

from pathlib import Path

import pytest
from accelsim_rules import GLOBAL, SHARED, Trace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelpoint import _native
from kernelpoint.randomness import generator
from kernelpoint_lab.synth.families import FAMILIES, SCALES
from kernelpoint_lab.synth.launch import Launch
from kernelpoint_lab.synth.memory import Memory
from kernelpoint_lab.synth.writer import TRACER_VERSIONS, Written, write_trace

# Sizes that leave partial warps, partial CTAs and partial tiles.
ODD = {
    "copy": {"n": 700, "width": 8}, "axpy": {"n": 333, "block": 64, "width": 2},
    "stencil": {"rows": 19, "columns": 45, "width": 8}, "reduction": {"n": 2500, "block": 128},
    "gemm": {"m": 70, "n": 72, "k": 32}, "gemv": {"rows": 37, "columns": 264}, "softmax": {"rows": 6, "columns": 45},
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
        if i.base in ("LDS", "STS", "ATOMS"):
            assert all(a >= 0 and a + i.width <= launch.shared for a in i.addresses), trace.lines[i.line]
        for a in i.addresses if i.base in ("LDG", "STG", "RED", "ATOMG") else []:
            assert any(low <= a and a + i.width <= high for low, high in spans), trace.lines[i.line]


def assert_native_reader_agrees(trace: Trace, written: Written, launch: Launch) -> None:
    scan = _native.scan(str(trace.path))
    assert (tuple(scan.header.grid), tuple(scan.header.block)) == (launch.grid, launch.block)
    assert (scan.header.kernel_name, scan.header.shared_memory) == (launch.kernel, launch.shared)
    work = scan.work
    assert (work.instructions, work.thread_instructions) == (written.warp_instructions, written.thread_instructions)
    assert (work.ctas, work.warps) == (launch.ctas, launch.ctas * launch.warps_per_cta)
    bases = [i.base for i in trace.instructions() if i.mask]
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
    block = {"block": odd.threads} if "block" in FAMILIES[name].parameters else {}
    width = {"width": ODD[name]["width"]} if "width" in ODD[name] else {}
    other = build(name, seed=1, **block, **width)
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
        assert any(i.mode == 2 for i in trace.instructions())


def test_tiled_products_use_the_right_units(tmp_path: Path) -> None:
    def opcodes(width: int) -> set[str]:
        return {i.base for i in write(build("gemm", m=64, n=64, k=16, width=width), tmp_path)[0].instructions()}

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
