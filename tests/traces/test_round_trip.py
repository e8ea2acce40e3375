"""The fast reader against a plain one, on random traces of every tracer version and address mode."""

from dataclasses import replace

import pytest
from fast_reader import read_fast
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slow_reader import read_slowly
from trace_writer import cta, small_trace, traces, write

from kernelpoint.traces import read_header

SETTINGS = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("form", ["plain", "xz", "zst"])
@SETTINGS
@given(text=traces())
def test_a_trace_reads_back_as_a_plain_reader_reads_it(tmp_path, form, text):
    if form == "zst":
        pytest.importorskip("zstandard", reason="zstandard is needed to write the trace")
    path = write(tmp_path, text, form)
    fields, ctas = read_slowly(text)
    assert read_fast(path) == ctas
    header = read_header(path)
    assert header.kernel_name == fields["kernel name"]
    assert str(header.grid).replace(" ", "") == fields["grid dim"]
    assert str(header.block).replace(" ", "") == fields["block dim"]
    assert header.shared_memory == int(fields["shmem"])
    assert header.registers == int(fields["nregs"])
    assert header.stream_id == int(fields["cuda stream id"])
    assert header.tracer_version == int(fields["accelsim tracer version"])
    assert header.shared_base == 0x7FA646000000


@SETTINGS
@given(text=traces(version=6))
def test_operand_values_are_left_out_unless_they_are_asked_for(tmp_path, text):
    path = write(tmp_path, text)
    wanted = [
        replace(c, warps=tuple((w, tuple(replace(i, values=None) for i in rows)) for w, rows in c.warps))
        for c in read_slowly(text)[1]
    ]
    assert read_fast(path, keep_values=False) == wanted


@SETTINGS
@given(text=traces(), ending=st.sampled_from(["", "\n", "\n\n  \n"]))
def test_line_ends_and_outer_blanks_do_not_matter(tmp_path, text, ending):
    before = read_fast(write(tmp_path, text))
    assert read_fast(write(tmp_path, text.rstrip().replace("\n", "\r\n") + ending)) == before


def test_lines_that_cross_the_buffers_of_the_reader_stay_whole(tmp_path):
    body = [f"{16 * (i % 900):04x} ffffffff 1 R{i % 255} LDG.E.64.SYS 1 R2 8 1 0x7f{i:08x} 8" for i in range(10_000)]
    text = small_trace(cta(body))
    assert len(text) > 2 * (256 << 10)  # a block of the reader
    expected = read_slowly(text)[1]
    for form in ("plain", "xz"):
        assert read_fast(write(tmp_path, text, form)) == expected


def test_one_pc_with_changing_registers_is_read_as_written(tmp_path):
    body = ["0000 ffffffff 1 R1 MOV 1 R2 0", "0000 0000000f 1 R1 MOV 1 R22 0", "0000 1 1 R1 MOV 1 R2 0"]
    text = small_trace(cta(body))
    assert read_fast(write(tmp_path, text)) == read_slowly(text)[1]


def test_a_pc_far_out_is_read(tmp_path):
    body = ["fffffff0 ffffffff 0 EXIT 0 0", "fffffff0 ffffffff 0 EXIT 0 0"]
    (only,) = read_fast(write(tmp_path, small_trace(cta(body))))
    assert [i.pc for i in only.warps[0][1]] == [0xFFFFFFF0, 0xFFFFFFF0]


def test_a_zstd_frame_with_a_long_window_is_read(tmp_path):
    zstandard = pytest.importorskip("zstandard", reason="zstandard is needed to write the trace")
    body = [f"0000 ffffffff 1 R1 LDG.E.SYS 1 R2 4 0 {' '.join(f'0x{i:x}{lane:02x}' for lane in range(32))}" for i in range(9)]
    text = small_trace(cta(body))
    compressor = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=28, enable_ldm=True)
    )
    path = tmp_path / "kernel-1.traceg.zst"
    with path.open("wb") as file, compressor.stream_writer(file) as writer:
        writer.write(text.encode())
    assert read_fast(str(path)) == read_slowly(text)[1]
