"""Speed of `kernelpoint convert --to macsim`, against a plain converter in Python.

The plain one (tests/reference/plain_macsim.py, on slow_reader.py beside it) parses the text, packs the records with struct
and writes each warp with Python's gzip; it shares no folders, so it is given each different trace once, as many as fit the
time. Prints traces, MB of text, seconds of processor time (of all threads, the system's included) and MB per such second of
both, the wall time of the conversion, then time and size for some levels of compression.

    python lab/benchmarks/convert.py KERNELSLIST [SECONDS_FOR_THE_PLAIN_ONE]
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "reference"))

from plain_macsim import NUMBERS, pack, records_of
from slow_reader import read_slowly

from kernelpoint import _native
from kernelpoint.convert import convert_to_macsim
from kernelpoint.convert.layout import FIRST_CODE, place
from kernelpoint.traces import launch_paths


def convert_plainly(path: str, folder: Path, level: int) -> None:
    """One launch: the records of each warp; the lists beside them take next to no time."""
    header, ctas = read_slowly(Path(path).read_text())
    x, y, _ = map(int, header["grid dim"].strip("()").split(","))
    for cta in ctas:
        number = cta.index[0] + x * (cta.index[1] + y * cta.index[2])
        for warp, instructions in cta.warps:
            content = gzip.compress(pack(records_of(instructions, FIRST_CODE, 128)), level)
            (folder / f"trace_{(number << 16) + warp}.raw").write_bytes(content)


def know_all_opcodes(paths: list[str]) -> None:
    """The plain converter's table covers its tests; any number does here."""
    for path in paths:
        reader = _native.read_ctas(path)
        for _ in reader:
            pass
        for text in reader.opcodes:
            NUMBERS.setdefault(text.split(".")[0], 156)


def fast(source: str, level: int, threads: int | None) -> tuple[float, float, int, int]:
    """Processor and wall seconds (the best of three, as others use the machine), files and bytes written."""
    return min(convert_once(source, level, threads) for _ in range(3))


def convert_once(source: str, level: int, threads: int | None) -> tuple[float, float, int, int]:
    """Processor and wall seconds, files and bytes written."""
    with tempfile.TemporaryDirectory() as folder:
        wall, begin = time.perf_counter(), time.process_time()
        made = convert_to_macsim(source, folder, level=level, threads=threads)
        seconds, wall = time.process_time() - begin, time.perf_counter() - wall
        return seconds, wall, made.warps, sum(path.stat().st_size for path in Path(folder).rglob("*.raw"))


def main(source: str, patience: float) -> None:
    """The tables."""
    paths = list(dict.fromkeys(launch_paths(source)))
    size = sum(os.path.getsize(path) for path in paths)
    alone, wall, warps, _ = fast(source, 1, None)
    digests = [_native.macsim_digest(path, _native.StopFlag()) for path in paths]
    different = [path for i, (path, p) in enumerate(zip(paths, place(digests), strict=True)) if p.folder == i]
    different_size = sum(os.path.getsize(path) for path in different)
    print(
        f"{len(paths)} traces, {size / 1e6:.1f} MB of text; {len(different)} different, {different_size / 1e6:.1f} MB"
    )
    know_all_opcodes(different)
    print("converter | MB of text | processor seconds | MB per second")
    done, begin = 0, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for path in different:
            convert_plainly(path, Path(folder), 1)
            done += os.path.getsize(path)
            if time.process_time() - begin > patience:
                break
    plain = time.process_time() - begin
    print(f"plain Python, no sharing | {done / 1e6:.1f} | {plain:.2f} | {done / 1e6 / plain:.2f}")
    print(f"this                     | {size / 1e6:.1f} | {alone:.2f} | {size / 1e6 / alone:.1f} (wall {wall:.2f} s)")
    rate = done / plain
    print(f"ratio, all traces: {size / alone / rate:.0f}x; different traces only: {different_size / alone / rate:.0f}x")
    print(f"level | processor seconds | MB in {warps} files")
    for level in (1, 3, 6, 9):
        seconds, _, _, written = fast(source, level, None)
        print(f"{level} | {seconds:.2f} | {written / 1e6:.2f}")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 20.0)
