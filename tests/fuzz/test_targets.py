"""The fuzz targets on their seeds and some mutations of them, under the sanitisers. `make fuzz` runs them for longer."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from compiled import sanitised
from run_targets import BESIDE, IN_MEMORY, TARGETS, WRAPPED
from seeds import write_seeds

HERE = Path(__file__).parent
RUNS = int(os.environ.get("FUZZ_RUNS", "500"))


@pytest.mark.parametrize("target", TARGETS)
def test_no_input_does_anything_but_read_or_be_refused(target, tmp_path):
    beside = BESIDE.get(target, [IN_MEMORY])
    link = WRAPPED if IN_MEMORY in beside else []
    fuzzer = sanitised([HERE / f"{target}.cc", HERE / "driver.cc", *beside], tmp_path / target, link)
    inputs = write_seeds(target, tmp_path / "seeds")
    corpus = tmp_path / "found"
    corpus.mkdir()
    done = subprocess.run(
        [fuzzer, f"-runs={RUNS}", "-seed=20240721", "-max_len=8192", corpus, tmp_path / "seeds"],
        capture_output=True, text=True, errors="replace", timeout=600, cwd=tmp_path,
        env={
            **os.environ,
            "ASAN_OPTIONS": "allocator_may_return_null=1:handle_sigill=2",
            "KERNELPOINT_SOURCE": str(HERE.parents[1]),
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    runs = re.search(r"Done (\d+) runs", done.stderr)
    assert runs is not None and int(runs[1]) == max(RUNS, inputs), done.stderr
