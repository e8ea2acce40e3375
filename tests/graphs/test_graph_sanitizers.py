"""The builder under AddressSanitizer and UndefinedBehaviorSanitizer, on whole and on damaged traces."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from small_traces import ADD, EXIT, LOAD, trace_text

ROOT = Path(__file__).parents[2]
STORE = "0030 0000ffff 0 STG.E.128.SYS 2 R4 R2 4 2 0x7f6000000000" + " 16" * 15


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    program = tmp_path_factory.mktemp("sanitized") / "builder"
    sources = [*(ROOT / "plugin/native/trace").rglob("*.cc"), Path(__file__).with_name("sanitized_builder.cc")]
    sources += (ROOT / "plugin/native/graph").glob("*.cc")
    flags = ["-std=c++17", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = [
        "g++",
        *flags,
        f"-I{ROOT}/plugin",
        f"-I{ROOT}/plugin/include",
        *map(str, sources),
        "-o",
        str(program),
        "-ldl",
        "-pthread",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if "cannot find -lasan" in done.stderr or "cannot find -lubsan" in done.stderr:
        pytest.skip("needs the sanitizers' libraries")
    assert done.returncode == 0, done.stderr
    return program


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
