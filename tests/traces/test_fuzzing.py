"""Mutated traces, under the address and undefined behaviour sanitisers."""

import lzma
import os
import re
import subprocess
from pathlib import Path

import pytest
from plain_tracez import from_text, pack
from sanitised import program
from trace_writer import cluster_lines, cta, small_trace

try:
    import zstandard
except ImportError:  # then .zst is not fuzzed
    zstandard = None

SECONDS = 10


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    return program(Path(__file__).with_name("fuzz.cc"), ["trace"], tmp_path_factory.mktemp("fuzz") / "fuzz")


def seeds(folder):
    load = "0010 0000000f 1 R1 LDG.E.64.SYS 1 R2 8 1 0x7f0000001000 8"
    deltas = "0020 00000007 1 R1 LDG.E.SYS 2 R2 UR4 4 2 0x7f0000001000 64 -4096"
    listed = "0030 80000001 0 STG.E.SYS 2 R2 R3 4 0 0x7f0000001000 0x7f0000002004"
    code = [load, deltas, listed, load, "0040 ffffffff 0 EXIT 0 0"]
    old = [f"0 0 0 0 {line}" for line in code]
    new = [f"{i} {line} {-i}" for i, line in enumerate(code)]
    numbered = small_trace(cta(new), version=5).replace("\n#traces", "-enable lineinfo = 1\n#traces")
    latest = [
        f"{load} 0 NoVal",
        f"{listed} 0 0x10 NoVal",
        "0040 ffffffff 1 R1 IMAD.WIDE 2 R2 UR4 0 0 Val 1 0xff 1 0x1 32 " + " ".join(f"{i:x}" for i in range(32)),
        "0050 00000001 0 UTMALDG.2D.MULTICAST 2 UR4 UR8 32 80 1 3 96 32 3 2 0x7f0000001000 0x7f0000001020 0 NoVal",
        "0060 00000001 0 UTMASTG.2D 2 UR4 UR8 0 0 0 96 0 4 0x7f0000001000 3 32 -64 0 0 NoVal",
        "0070 ffffffff 1 R24 HGMMA.64x8x16.F32 2 R24 UR4 1 0 0 NoVal",
    ]
    texts = [
        small_trace(cta(code, code) + cta(code, index="1,0,0"), grid="(2,1,1)"),
        small_trace(cta(old), version=2),
        numbered,
        small_trace(cta(latest).replace("0,0,0\n", "0,0,0\n" + cluster_lines((0, 0, 0), 1), 1), version=6),
        "MemcpyHtoD,0x7f00,64\nkernel-1.traceg\n",
    ]
    contents = [text.encode() for text in texts] + [lzma.compress(texts[0].encode())]
    if zstandard is not None:
        contents.append(zstandard.compress(texts[0].encode()))
    paths = [folder / f"seed-{i}" for i in range(len(contents))]
    both = "".join(
        cta(latest, latest[:2], index=f"{x},0,0").replace(f"{x},0,0\n", f"{x},0,0\n" + cluster_lines((x, 0, 0), 2), 1)
        for x in range(2)
    )
    launch = from_text(small_trace(both, grid="(2,1,1)", version=6))
    paths += [folder / f"stored-{chunk}.tracez" for chunk in (2, 100)]
    contents += [pack(launch, chunk) for chunk in (2, 100)]
    if zstandard is not None:
        paths.append(folder / "compressed.tracez")
        contents.append(pack(launch, 3, zstandard.ZstdCompressor().compress))
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def test_no_mutated_trace_does_anything_but_read_or_be_refused(fuzzer, tmp_path):
    command = [fuzzer, "20240721", str(SECONDS), tmp_path / "mutant", *seeds(tmp_path)]
    environment = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=20 * SECONDS, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    tried, readable = map(int, re.findall(r"\d+", done.stdout))
    assert 0 < readable < tried, done.stdout
