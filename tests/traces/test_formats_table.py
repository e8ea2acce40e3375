"""Every cell of the table of formats in docs/formats.md: read as a plain reader reads it, and damaged in every way."""

import lzma
import re
import resource
from pathlib import Path

import pytest
from fast_reader import read_fast
from plain_tracez import from_text, pack
from slow_reader import read_slowly
from trace_writer import cluster_lines, cta, small_trace, write

from kernelpoint.errors import TraceError
from kernelpoint.traces import scan_trace

CONTAINERS = ("plain", "xz", "zst")
CELLS = [(version, form) for version in range(1, 7) for form in CONTAINERS] + [(6, "tracez")]
IDS = [f"version {version} {form}" for version, form in CELLS]
TMA, COPY = "0000 1 0 UTMALDG.2D 2 UR4 UR8 128", "80 0 256 0"
# feature -> the versions that have it, and an instruction with it as version 3 writes it; {} is where later fields stand
FEATURES = {
    "registers": (range(1, 7), "0000 ffffffff 2 R1 P0 IADD3 4 UR2 R3 UP1 R255 0{}"),
    "a list of addresses": (range(1, 7), "0000 80000001 1 R1 LDG.E.SYS 1 R2 4 0 0x7f0000001000 0x7f0000002000{}"),
    "base and stride": (range(1, 7), "0000 0000000f 1 R1 LDG.E.64.SYS 1 R2 8 1 0x7f0000001000 -8{}"),
    "base and deltas": (range(1, 7), "0000 00000007 0 STG.E.128 2 R2 R4 16 2 0x7f0000001000 16 -640{}"),
    "an opcode that no table has": (range(1, 7), "0000 ffffffff 1 R1 FANCY.X 1 R2 0{}"),
    "source lines": (range(4, 7), "0000 ffffffff 1 R1 MOV 1 R2 0{}"),
    "STORE_DATA": ((5,), "0000 1 0 STG.E.SYS 2 R2 R4 4 1 0x7f0000001000 4{} STORE_DATA F32 1 REG0:T0:1.5"),
    "a second immediate": ((6,), "0000 ffffffff 1 R1 IMAD 1 R2 0 0x1f{}"),
    "GMMA": ((6,), "0000 ffffffff 1 R24 HGMMA.64x8x16.F32 2 R24 R25 1 0{}"),
    "TMA, a list": ((6,), f"{TMA} {COPY} 3 2 0x7f0000001000 0x7f0000001080{{}}"),
    "TMA, base and deltas": ((6,), f"{TMA} {COPY} 4 0x7f0000001000 2 128{{}}"),
    "TMA, multicast": ((6,), f"{TMA} 80 1 3 256 0 4 0x7f0000001000 2 128{{}}"),
    "one value": ((6,), "0000 ffffffff 1 R1 MOV 1 R2 0 0 Val 1 0x5 1 0x7"),
    "32 values": ((6,), "0000 ffffffff 1 R1 MOV 0 0 0 Val 32" + " 0x5" * 32),
}
CASES = [(name, version, form) for name, (versions, _) in FEATURES.items() for version, form in CELLS if version in versions]


def line_of(name: str, version: int) -> str:
    """The instruction of a feature as a version writes it."""
    later = {5: " -3", 6: " -3 NoVal"}.get(version, "")
    numbers = ("0 0 0 0 " if version < 3 else "") + ("12 " if name == "source lines" else "")
    return numbers + FEATURES[name][1].format(later)


def trace_of(lines: list[str], version: int, name: str = "") -> str:
    """A trace of two warps, each with these lines."""
    prefix = "0 0 0 1 " if version < 3 else ""
    second = [prefix + line.removeprefix("0 0 0 0 ") for line in lines]
    body = cta(lines, second)
    if version == 6:
        body = body.replace("thread block = 0,0,0\n", "thread block = 0,0,0\n" + cluster_lines((0, 0, 0), 1))
    text = small_trace(body, version=version)
    said = f"-enable lineinfo = {int(name == 'source lines')}\n"
    return text.replace("#traces format", said + "#traces format") if version >= 4 else text


def whole_trace(version: int) -> str:
    """A trace with every feature of a version that goes with the others."""
    lines = [line_of(name, version) for name in FEATURES if version in FEATURES[name][0] and name != "source lines"]
    return trace_of(lines, version)


def save(folder: Path, text: str, form: str) -> Path:
    if form == "zst":
        pytest.importorskip("zstandard", reason="zstandard is needed to write the trace")
    if form != "tracez":
        return Path(write(folder, text, form))
    path = folder / "kernel-1.tracez"
    path.write_bytes(pack(from_text(text), 3))
    return path


@pytest.mark.parametrize(("name", "version", "form"), CASES)
def test_a_feature_reads_as_a_plain_reader_reads_it(tmp_path, name, version, form):
    text = trace_of([line_of(name, version)], version, name)
    assert read_fast(str(save(tmp_path, text, form))) == read_slowly(text)[1]


@pytest.mark.parametrize(("name", "version", "form"), CASES)
def test_a_feature_whose_line_ends_early_is_refused(tmp_path, name, version, form):
    words = line_of(name, version).partition(" STORE_DATA")[0].split()
    for kept in (len(words) // 2, len(words) - 1):
        text = trace_of([" ".join(words[:kept])], version, name)
        with pytest.raises(TraceError):
            scan_trace(save(tmp_path, text, form))


CUT = "stream is (truncated|damaged)|expected"
SAID = {"plain": "expected", "xz": CUT, "zst": CUT, "tracez": "kernel-1.tracez: "}  # more of the last: test_tracez.py


@pytest.mark.parametrize(("version", "form"), CELLS, ids=IDS)
def test_a_file_that_ends_early_is_refused(tmp_path, version, form):
    path = save(tmp_path, whole_trace(version).rstrip(), form)
    data = path.read_bytes()
    for size in [*range(0, len(data), 1 + len(data) // 40), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(TraceError, match=SAID[form]):
            scan_trace(path)


def unpacked(data: bytes, form: str) -> str:
    """Text of a damaged file as another library unpacks it."""
    if form == "zst":
        import zstandard

        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return (lzma.decompress(data) if form == "xz" else data).decode("latin-1")


@pytest.mark.parametrize(("version", "form"), CELLS, ids=IDS)
def test_a_flipped_bit_is_refused_or_reads_as_what_it_says(tmp_path, version, form):
    path = save(tmp_path, whole_trace(version), form)
    data, refused = path.read_bytes(), 0
    for place, at in enumerate(range(0, len(data), 1 + len(data) // 60)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            ctas = read_fast(str(path))
        except TraceError as error:
            assert form != "xz" or re.search(r"kernel-1.traceg.*(the xz stream is damaged|expected)", str(error))
            refused += 1
            continue
        if form != "tracez":
            assert ctas == read_slowly(unpacked(bytes(damaged), form))[1], at
        assert [cta.index for cta in ctas] == [(0, 0, 0)]
    assert refused > 8 if form != "xz" else refused == place + 1  # xz has a checksum


# those of a .tracez's index: test_tracez.py
LIES = {
    "instructions of a warp": (r"insts = \d+", "insts = 2147483648"),
    "instructions beyond all bounds": (r"insts = \d+", "insts = 99999999999999999999"),
    "CTAs": (r"grid dim = \(1,1,1\)", "grid dim = (2147483647,65535,65535)"),
    "destinations": (r"ffffffff 2 R1 P0", "ffffffff 4000000000 R1 P0"),
    "sources": (r"IADD3 4 UR2", "IADD3 4000000000 UR2"),
    "lanes": (r"80000001 1 R1 LDG", "ffffffff 1 R1 LDG"),
}


@pytest.mark.parametrize(
    ("version", "form", "lie"),
    [(*cell, lie) for cell in CELLS for lie in LIES if cell[1] != "tracez" or not lie.startswith("instructions")],
)
def test_a_count_that_lies_is_refused_before_it_costs_memory(tmp_path, version, form, lie):
    text, changed = re.subn(*LIES[lie], whole_trace(version), count=1)
    assert changed
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TraceError):
        scan_trace(save(tmp_path, text, form))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


@pytest.mark.parametrize(("version", "form"), CELLS[:-1], ids=IDS[:-1])
def test_a_line_without_end_is_refused_and_not_kept(tmp_path, version, form):
    """A bomb: megabytes that pack into nothing. Those in frames of a .tracez: test_tracez.py."""
    words = line_of("registers", version)
    path = save(tmp_path, trace_of([words.replace("UR2", "UR2" + " " * (2 << 20))], version), form)
    with pytest.raises(TraceError, match="a line of at most 1048576 bytes"):
        scan_trace(path)
    assert form == "plain" or path.stat().st_size < 1 << 16
