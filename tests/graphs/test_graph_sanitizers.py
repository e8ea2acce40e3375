"""The builder under AddressSanitizer and UndefinedBehaviorSanitizer, on whole and on damaged traces."""

import subprocess
from pathlib import Path

import pytest
from compiled import READERS
from sanitised import program
from small_traces import ADD, EXIT, LOAD, trace_text

STORE = "0030 0000ffff 0 STG.E.128.SYS 2 R4 R2 4 2 0x7f6000000000" + " 16" * 15
VALUED = [
    LOAD + " 0 Val 32" + " 0x7fc00000 0xffffffff" * 16 + " 32" + " 0x7f6000000000 0x8000000000000000" * 16,
    "0010 ffffffff 1 R2 FADD 2 R1 R5 0 0 Val 1 0x7f800000 1 0xff800000 32" + " 0xffffffffffffffff" * 32,
    "0020 00000000 1 R6 IADD3 2 R2 R6 0 0 Val 1 0x1 1 0x2 1 0x3",
]


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    output = tmp_path_factory.mktemp("sanitized") / "builder"
    return program(Path(__file__).with_name("sanitized_builder.cc"), [*READERS, "native/graph"], output)


@pytest.mark.slow
def test_the_builder_is_clean_on_whole_and_on_damaged_traces(builder, tmp_path):
    whole = trace_text([[[LOAD, ADD, STORE, EXIT], [ADD] * 100], [[LOAD] * 9, [EXIT]]] * 3)
    valued = trace_text([[VALUED, VALUED * 9], [VALUED[:2], VALUED[::-1]]], version=6)
    texts = [text[:cut] for text in (whole, valued) for cut in (len(text), *range(0, len(text), len(text) // 40))]
    paths = []
    for number, text in enumerate(texts):
        paths.append(tmp_path / f"kernel-{number}.traceg")
        paths[-1].write_text(text)
    done = subprocess.run([builder, *paths], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3 * len(texts) and lines[2].endswith("edges") and lines[-1].startswith("refused")
    assert lines[3 * len(texts) // 2].endswith("edges"), "the whole trace with values is refused"
