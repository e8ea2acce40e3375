"""Coverage of the subtotals of phases and layers of a transformer in a real simulator.

python lab/coverage/phases.py FOLDER                      # a list of 32 layers, prefill and one token, and its ranges.csv
python lab/coverage/phases.py RUN.kpjournal FULL.kpjournal   # a table; both runs with `ranges: ranges.csv`
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from runs import largest, percent, print_table, share

from kernelpoint.journal import Run, load_run
from kernelpoint_lab.synth.families.dense import attention, gemm, gemv
from kernelpoint_lab.synth.families.rows import softmax
from kernelpoint_lab.synth.launch import Launch, Memory
from kernelpoint_lab.synth.lists import write_list

LAYERS, HIDDEN, PROMPT, HALF = 32, 64, 32, 2


def launches() -> Iterator[tuple[str, Launch]]:
    """Launches of the transformer in program order, each with the path of its range."""
    memory = Memory()
    x, rows, qkv = (memory.tensor(n * HIDDEN, HALF) for n in (1, PROMPT, 3 * PROMPT))
    wide, scores = memory.tensor(4 * PROMPT * HIDDEN, HALF), memory.tensor(PROMPT * PROMPT, HALF)
    weights = [[memory.tensor(n * HIDDEN**2, HALF) for n in (3, 4)] for _ in range(LAYERS)]
    cache = [[memory.tensor((PROMPT + 1) * HIDDEN, HALF) for _ in range(2)] for _ in range(LAYERS)]
    for layer, (w_qkv, w_up) in enumerate(weights):
        path = f"prefill/layer.{layer}"
        yield f"{path}/attention", gemm(rows, w_qkv, qkv, PROMPT, 3 * HIDDEN, HIDDEN)
        yield f"{path}/attention", softmax(scores, scores, PROMPT, PROMPT)
        yield f"{path}/mlp", gemm(rows, w_up, wide, PROMPT, 4 * HIDDEN, HIDDEN)
    for layer, (w_qkv, w_up) in enumerate(weights):
        path, (keys, values) = f"decode/layer.{layer}", cache[layer]
        yield f"{path}/attention", gemv(w_qkv, x, qkv, 3 * HIDDEN, HIDDEN)
        yield f"{path}/attention", attention(qkv, keys, values, rows, 1, PROMPT + 1, PROMPT + 1)
        yield f"{path}/mlp", gemv(w_up, x, wide, 4 * HIDDEN, HIDDEN)


def write(folder: Path) -> None:
    """Write the list and the ranges of its launches."""
    paths, sequence = zip(*launches(), strict=True)
    folder.mkdir(parents=True, exist_ok=True)
    write_list(sequence, folder, len(sequence), {"name": "transformer of 32 layers, prefill and decode"})
    rows = "".join(f"{launch},{path}\n" for launch, path in enumerate(paths))
    (folder / "ranges.csv").write_text(f"launch,path\n{rows}")
    print(f"{folder}: {len(sequence)} launches, {len(set(paths))} innermost ranges")


def compare(run: Run, full: Run) -> None:
    """Print the subtotals of each level of ranges (phases, layers), and how many of the stated intervals contain those of the
    full run.
    """
    checks: dict[int, list[tuple[bool, float, float, float]]] = {}
    for path, part in run.ranges.items():
        stated, truth = part.estimates["cycles"], full.ranges[path].estimates["cycles"].estimate
        off, width = abs(stated.estimate - truth), stated.half_width / stated.estimate
        checks.setdefault(path.count("/") + bool(path), []).append((off <= stated.half_width + 0.5, off / truth, width, width))
    rows = (((depth, len(numbers)), numbers) for depth, numbers in sorted(checks.items()))
    print_table(["depth", "ranges"], {"held": share, "largest error": largest, "half-width": percent, "largest": largest}, rows)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        write(Path(sys.argv[1]))
    else:
        compare(load_run(sys.argv[1]), load_run(sys.argv[2]))
