"""Accel-Sim's compressed traces: read as a plain reader reads them, equal to text, and refused where they lie."""

import struct
from pathlib import Path

import pytest
from fast_reader import read_fast
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain_tracez import PlainTracez, from_text, pack, raw_frame, unpack
from slow_reader import read_slowly
from trace_writer import cluster_lines, cta, small_trace, traces

from kernelpoint.errors import TraceError
from kernelpoint.traces import fields_of, read_header, read_trace_list, scan_trace
from kernelpoint_lab.synth.compose import compose
from kernelpoint_lab.synth.lists import write_list

SETTINGS = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MOVE, EXIT = "0000 ffffffff 1 R1 MOV 1 R2 0 0 NoVal", "0010 ffffffff 0 EXIT 0 0 0 NoVal"


def save(folder: Path, data: bytes) -> str:
    path = folder / "kernel-1.tracez"
    path.write_bytes(data)
    return str(path)


def small(ctas: int = 2, warps: int = 2, lines: int = 5) -> PlainTracez:
    body = "".join(
        cta(*[[MOVE] * (lines - 1) + [EXIT]] * warps, index=f"{x},0,0").replace(
            f"{x},0,0\n", f"{x},0,0\n" + cluster_lines((x, 0, 0), 1), 1
        )
        for x in range(ctas)
    )
    return from_text(small_trace(body, grid=f"({ctas},1,1)", block=f"({32 * warps},1,1)", version=6))


def refusal(folder: Path, data: bytes) -> str:
    path = save(folder, data)
    with pytest.raises(TraceError) as caught:
        scan_trace(path)
    assert str(caught.value).startswith(path + ": ")
    return str(caught.value).removeprefix(path + ": ")


@pytest.mark.parametrize("packed", ["stored", "compressed", "with a dictionary"])
@SETTINGS
@given(text=traces(version=6), chunk=st.sampled_from([1, 2, 2048]))
def test_it_reads_as_the_same_launch_in_text_stream_and_work_included(tmp_path, packed, text, chunk):
    trace, compress, dictionary = from_text(text), raw_frame, b""
    if packed != "stored":
        zstandard = pytest.importorskip("zstandard", reason="zstandard is needed to write the trace")
        dictionary = b"ffffffff 1 R1 MOV 0 0 NoVal" if packed == "with a dictionary" else b""
        compress = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(dictionary)).compress
    path = save(tmp_path, pack(trace, chunk, compress, dictionary))
    plain = trace.to_text()
    assert read_fast(path) == read_slowly(plain)[1]
    written = tmp_path / "same.traceg"
    written.write_text(plain)
    in_text, here = scan_trace(written), scan_trace(path)
    assert fields_of(here) == fields_of(in_text)


SMALL = {"gemm": {"m": [70], "n": [72], "k": [32]}}


@pytest.mark.parametrize("name", ["gemm", "graph-traversal"])
def test_what_synth_writes_as_tracez_equals_its_text_launch_by_launch(tmp_path, name):
    zstandard = pytest.importorskip("zstandard", reason="zstandard is needed to read the trace plainly")
    for ending in ("traceg", "tracez"):
        request = compose(name, launches=8, sizes=SMALL.get(name, {}))
        (tmp_path / ending).mkdir()
        write_list(request.sequence, tmp_path / ending, 8, request.description, 6, ending)
    texts, packed = (read_trace_list(tmp_path / ending / "kernelslist.g").traces for ending in ("traceg", "tracez"))
    assert len(texts) == len(packed) == 8 and all(path.endswith(".tracez") for path in packed)
    assert read_trace_list(tmp_path / "tracez").traces == packed, "a folder means its kernelslist.g"

    def decompress(frame: bytes, dictionary: bytes) -> bytes:
        return zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(dictionary)).decompress(frame)

    for text, file in zip(texts, packed, strict=True):
        assert fields_of(scan_trace(text)) == fields_of(scan_trace(file))
    one_of_each = {scan_trace(text).stream: (text, file) for text, file in zip(texts, packed, strict=True)}
    for text, file in one_of_each.values():
        assert read_fast(text) == read_fast(file)
        assert read_slowly(unpack(Path(file).read_bytes(), decompress).to_text())[1] == read_fast(file)


def test_a_warp_of_many_and_long_sub_chunks_is_streamed(tmp_path):
    addresses = " ".join(f"0x7f{i:010x}" for i in range(0, 32 * 40, 40))
    lines = [f"{16 * (i % 500):04x} ffffffff 1 R1 LDG.E.64 1 R2 8 0 {addresses} 0 NoVal" for i in range(3000)]
    trace = small(1, 1)
    trace.ctas[0].warps = [lines]
    zstandard = pytest.importorskip("zstandard", reason="zstandard is needed to write the trace")
    for chunk in (7, 3000):
        data = pack(trace, chunk, zstandard.ZstdCompressor().compress)
        assert read_fast(save(tmp_path, data)) == read_slowly(trace.to_text())[1]


def test_every_byte_of_the_index_matters(tmp_path):
    """Each byte flipped: what is read is refused, or it was a place in a cluster, which may be anything."""
    trace = small()
    data = bytearray(pack(trace))
    (start,) = struct.unpack_from("<Q", data, len(data) - 8)
    wanted = read_slowly(trace.to_text())[1]
    warps = [[warp for _, warp in cta.warps] for cta in wanted]
    accepted = 0
    for at in range(start, len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 0x41
        try:
            read = read_fast(save(tmp_path, bytes(damaged)))
        except TraceError:
            continue
        accepted += 1
        assert [[warp for _, warp in cta.warps] for cta in read] == warps
    assert accepted == 2 * 7 * 4


def lie(data: bytes, at: int, form: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(form, changed, at, value)
    return bytes(changed)


def test_counts_sizes_and_offsets_that_lie_are_refused_before_they_are_believed(tmp_path):
    trace = small(1, 1, 3)
    data = pack(trace, 2)
    (index,) = struct.unpack_from("<Q", data, len(data) - 8)
    dictionary = data.index(b"\0") + 1
    first = dictionary + 8  # the warp's data
    warp = index + 4 + 44
    frame = first + 8 + 4
    cases = {
        "a dictionary that fits": lie(data, dictionary, "<I", 0xFFFFFFFF),
        "to be the offset of an index": lie(data, len(data) - 8, "<Q", 2**63),
        "offset of an index between": lie(data, len(data) - 8, "<Q", 3),
        "1 CTAs as the grid says (the index has 4294967295)": lie(data, index, "<I", 0xFFFFFFFF),
        "an index within the grid": lie(data, index + 4, "<I", 1),
        "at most 1 warps, found 4294967295": lie(data, index + 44, "<I", 0xFFFFFFFF),
        "at most 2147483648 instructions": lie(data, warp, "<I", 0xFFFFFFFF),
        "sub-chunks of 4 instructions in all, found 3": lie(data, warp, "<I", 4),
        "no more sub-chunks than the index has bytes for": lie(data, warp + 4, "<I", 0xFFFFFFFF),
        "and before the index, found the offset 18446744073709551615": lie(data, warp + 8, "<Q", 2**64 - 1),
        "data behind the previous warp's": lie(data, warp + 8, "<Q", 0),
        "no empty sub-chunk": lie(data, warp + 16, "<I", 0),
        "to begin with its 3 instructions and 2 sub-chunks": lie(data, first, "<I", 7),
        "a sub-chunk that ends before the index": lie(data, first + 8, "<I", 0xFFFFFFF0),
        "a zstd frame that says how much it holds": lie(data, frame, "<I", 0),
        "a zstd frame of 2 lines of at most 1 MiB": lie(data, frame + 5, "<Q", 2**50),
        "the zstd frame is damaged": lie(data, frame + 5, "<Q", 1000),
    }
    for expected, changed in cases.items():
        assert expected in refusal(tmp_path, changed), expected


def test_a_sub_chunk_with_other_lines_than_the_index_says_is_refused_with_the_line(tmp_path):
    trace = small(1, 1, 3)
    data = pack(trace)
    assert "warp 0 of CTA 0,0,0, line 2: expected instruction 3 of 3 of a sub-chunk" in refusal(
        tmp_path, pack(trace, compress=lambda text: raw_frame(text.rpartition(b"\n")[0]))
    )
    assert "the end of a sub-chunk behind its 3 instructions" in refusal(
        tmp_path, pack(trace, compress=lambda text: raw_frame(text + b"\n" + EXIT.encode()))
    )
    assert "line 2: expected an opcode" in refusal(tmp_path, data.replace(b"MOV", b"mov", 2).replace(b"mov", b"MOV", 1))


@pytest.mark.parametrize("behind", [b"\0", raw_frame(b"more")])
def test_bytes_behind_the_frame_of_a_sub_chunk_are_refused(tmp_path, behind):
    data = pack(small(1, 1, 3), compress=lambda text: raw_frame(text) + behind)
    assert "the zstd frame is not as long as its header and the sub-chunk say" in refusal(tmp_path, data)


def test_a_frame_that_holds_more_than_it_says_is_refused(tmp_path):
    """zstd itself notices, before the reader does."""
    data = pack(small(1, 1, 3), compress=lambda text: lie(raw_frame(text), 5, "<Q", len(text) - 1))
    assert "the zstd frame is damaged" in refusal(tmp_path, data)


def test_a_bomb_is_refused_without_being_unpacked(tmp_path):
    zstandard = pytest.importorskip("zstandard", reason="zstandard is needed to write the trace")
    trace = small(1, 1, 2)
    spaces = zstandard.ZstdCompressor().compress(b" " * (64 << 20))
    assert "lines of at most 1 MiB" in refusal(tmp_path, pack(trace, compress=lambda _: spaces))
    zeros = zstandard.ZstdCompressor().compress(b"0" * (2 << 20))
    assert "a line of at most 1048576 bytes" in refusal(tmp_path, pack(trace, compress=lambda _: zeros))


def test_warps_that_share_their_data_are_refused(tmp_path):
    data = bytearray(pack(small(1, 2)))
    (index,) = struct.unpack_from("<Q", data, len(data) - 8)
    (first,) = struct.unpack_from("<Q", data, index + 4 + 44 + 8)
    struct.pack_into("<Q", data, index + 4 + 44 + 20 + 8, first)
    assert "data behind the previous warp's" in refusal(tmp_path, bytes(data))


def test_a_dictionary_that_is_none_and_a_header_without_end_are_refused(tmp_path):
    magic = struct.pack("<I", 0xEC30A437)
    assert "a zstd dictionary behind the header" in refusal(tmp_path, pack(small(), dictionary=magic + b"\xff" * 60))
    assert "a header of at most 1 MiB that ends with a NUL" in refusal(tmp_path, b"-kernel name = x\n" * 100)
    assert "found an empty file" in refusal(tmp_path, b"")
    with pytest.raises(TraceError, match="cannot be opened"):
        read_header(tmp_path / "none.tracez")
