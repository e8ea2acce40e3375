"""Openings of trace files, counted by the system (inotify)."""

import ctypes
import os
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from trace_writer import numbered
from workloads import synthesised

from kernelpoint.traces import read_trace_list

IN_OPEN, IN_NONBLOCK, IN_ISDIR = 0x20, 0o4000, 0x40000000
COPIES = 6  # of each trace
READ = (
    "import sys; from kernelpoint.traces import read_trace_list, scan_launches\n"
    "scan_launches(read_trace_list(sys.argv[1]).traces)"
)
PLAN = "import sys, kernelpoint as kp; kp.Plan.from_traces(sys.argv[1])"
RUN = (
    "import sys, kernelpoint as kp\n"
    "kp.simulate(sys.argv[1], sys.argv[2], 'rtx', error_budget={'relative_error': 0.05}, resume='never')"
)


def openings(folder, code, *words, **environment):
    """Number of openings of each file of a folder while a program runs."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(IN_NONBLOCK)
    if descriptor < 0 or libc.inotify_add_watch(descriptor, os.fsencode(folder), IN_OPEN) < 0:
        pytest.skip("this system has no inotify")
    try:
        done = subprocess.run([sys.executable, "-c", code, *map(str, words)], env={**os.environ, **environment}, timeout=300)
        assert done.returncode == 0
        counts: Counter[str] = Counter()
        while True:
            try:
                events = os.read(descriptor, 1 << 20)
            except BlockingIOError:
                return counts
            place = 0
            while place < len(events):
                _, mask, _, length = struct.unpack_from("iIII", events, place)
                name = events[place + 16 : place + 16 + length].rstrip(b"\0").decode()
                counts.update([name] if name.endswith(".traceg") and not mask & IN_ISDIR else [])
                place += 16 + length
    finally:
        os.close(descriptor)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is of Linux")
def test_a_trace_is_opened_once_to_be_read_and_a_content_once_by_the_fast_model_and_once_by_a_run(tmp_path):
    made = read_trace_list(synthesised(tmp_path / "made", "iterative-solver", 20, rows=2048)).traces.distinct
    folder = tmp_path / "copies"
    folder.mkdir()
    names = [f"kernel-{n + 1}.traceg" for n in range(COPIES * len(made))]
    for name, path in zip(names, made * COPIES, strict=True):
        (folder / name).write_text(numbered(Path(path).read_text(), name))
    (folder / "kernelslist.g").write_text("".join(f"{name}\n" for name in names))
    cache = str(tmp_path / "cache")
    assert openings(folder, READ, folder, KERNELPOINT_CACHE=str(tmp_path / "other")) == dict.fromkeys(names, 1)
    planned = openings(folder, PLAN, folder, KERNELPOINT_CACHE=cache)
    again = [name for name in names if planned[name] > 1]
    assert min(planned[name] for name in names) == 1 and len(again) <= len(made)
    openings(folder, RUN, folder, tmp_path / "first.kpjournal", KERNELPOINT_CACHE=cache)
    ran = openings(folder, RUN, folder, tmp_path / "second.kpjournal", KERNELPOINT_CACHE=cache)
    assert 0 < len(ran) <= len(made) + 2 and set(ran.values()) == {1}
