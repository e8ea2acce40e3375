"""The builder under AddressSanitizer and UndefinedBehaviorSanitizer, on whole and on damaged traces."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from sanitised import program
from small_traces import ADD, EXIT, LOAD, trace_text

STORE = "0030 0000ffff 0 STG.E.128.SYS 2 R4 R2 4 2 0x7f6000000000" + " 16" * 15


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    output = tmp_path_factory.mktemp("sanitized") / "builder"
    return program(Path(__file__).with_name("sanitized_builder.cc"), ["trace", "graph"], output)


@pytest.mark.slow
def test_the_builder_is_clean_on_whole_and_on_damaged_traces(builder, tmp_path):
    whole = trace_text([[[LOAD, ADD, STORE, EXIT], [ADD] * 100], [[LOAD] * 9, [EXIT]]] * 3)
    texts = [whole, *(whole[:cut] for cut in range(0, len(whole), len(whole) // 40))]
    paths = []
    for number, text in enumerate(texts):
        paths.append(tmp_path / f"kernel-{number}.traceg")
        paths[-1].write_text(text)
    done = subprocess.run([builder, *paths], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3 * len(texts) and lines[2].endswith("edges") and lines[-1].startswith("refused")
