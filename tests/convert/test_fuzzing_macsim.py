"""Mutated launches and conversions, under the address and undefined behaviour sanitisers."""

import gzip
import os
import subprocess
from pathlib import Path

import pytest
from plain_macsim import pack
from sanitised import program
from test_refused_launches import BODY, names_line, write_launch
from trace_writer import cta, small_trace

SECONDS = 5


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    output = tmp_path_factory.mktemp("fuzz") / "fuzz_macsim"
    return program(Path(__file__).with_name("fuzz_macsim.cc"), ["trace", "convert"], output)


@pytest.mark.parametrize("form", ["plain", "gzip"])
def test_mutations_are_read_or_refused_and_what_is_read_can_be_converted(fuzzer, tmp_path, form):
    launch = tmp_path / "seed"
    write_launch(launch / "Kernel0", warps=(0, 65536), names=names_line(0))
    (launch / "kernel_config.txt").write_text("nvbit\n14\n-1\n./Kernel0/trace.txt\n")
    for path in launch.glob("Kernel0/*.raw"):
        path.write_bytes(pack(BODY) if form == "plain" else gzip.compress(pack(BODY)))
    load = "0010 0000000f 1 R1 LDG.E.64.SYS 1 R2 8 1 0x7f0000001000 512"
    code = ["0000 ffffffff 0 MOV 0 0", load, "0020 00000007 1 R1 BRA 3 R2 UR4 P1 0", "0030 ffffffff 0 EXIT 0 0"]
    texts = [
        small_trace(cta(code, code) + cta(code[:1], index="1,0,0"), grid="(2,1,1)"),
        small_trace(cta(code[1:])),
        small_trace(cta(code) + cta(index="0,1,0"), grid="(1,2,1)"),
    ]
    traces = [tmp_path / f"trace-{i}" for i in range(len(texts))]
    for path, text in zip(traces, texts, strict=True):
        path.write_text(text)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1"}
    done = subprocess.run(
        [fuzzer, "20240721", str(SECONDS), scratch, launch, *traces],
        capture_output=True, text=True, timeout=60 * SECONDS, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    launches, readable, conversions, converted = map(int, done.stdout.split())
    assert 0 < readable < launches and 0 < converted < conversions, done.stdout
