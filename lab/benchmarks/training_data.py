"""Writes the synthesised launches that the builtin encoder is trained on: every family at many sizes and widths.

    python lab/benchmarks/training_data.py FOLDER [--settings 24] [--programs 0] [--threads 65536] [--values] [--seed 0]

Each family gets its own folder with a kernelslist.g; a setting draws every size log-uniformly between a quarter of the small
default and twice the medium one; launches of more than --threads threads are drawn anew. With --values operand values are
written too (tracer version 6), which takes 20 times as many bytes. The folder `program` gets as many random warp programs as
asked for. Families at settings seed + 1 give the evaluation's unseen sizes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kernelpoint.randomness import generator
from kernelpoint_lab.synth.families import FAMILIES, Family
from kernelpoint_lab.synth.launch import Launch
from kernelpoint_lab.synth.lists import write_list
from kernelpoint_lab.synth.memory import Memory

LARGEST_WORK = 1 << 16  # threads of a launch, to keep traces small
TRIES = 200


def draw_sizes(family: Family, random: np.random.Generator) -> dict[str, int]:
    """One random setting of a family's parameters, within its limits."""
    sizes = {}
    for name, (small, medium, _) in family.parameters.items():
        if name == "number":
            sizes[name] = int(random.integers(1, family.size(name).high))
        elif name == "width":
            sizes[name] = int(random.choice([w for w in family.widths if w <= 8]))
        elif name == "block":
            sizes[name] = int(random.choice([64, 128, 256]))
        else:
            value = int(np.exp(random.uniform(np.log(max(2, small / 4)), np.log(2 * medium))))
            multiple = family.size(name).multiple
            sizes[name] = max(multiple, value // multiple * multiple)
    return sizes


def launches(family: Family, settings: int, seed: int, threads: int) -> Iterator[Launch]:
    """`settings` launches of a family. Each is drawn until it is small enough, at most `TRIES` times."""
    for number in range(settings):
        random = generator(seed, f"training data {family.name}", number)
        for _ in range(TRIES):
            launch = family.build(Memory(), random, draw_sizes(family, random))
            if launch.ctas * launch.threads <= threads:
                break
        yield launch


def write(folder: Path, settings: int, programs: int, threads: int, seed: int, values: bool = False) -> None:
    """Write the launches of each family into a folder, and print the number of traces and their size for each."""
    for family in FAMILIES.values():
        count = programs if family.name == "program" else settings
        if count == 0:
            continue
        own = folder / family.name
        own.mkdir(parents=True, exist_ok=True)
        described = {"name": family.name, "seed": seed}
        drawn = launches(family, count, seed, threads)
        totals = write_list(drawn, own, count, described, 6 if values else 3, values=seed if values else None)
        print(f"{family.name:12} {totals.files:4} traces {totals.bytes / 1e6:8.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--settings", type=int, default=24)
    parser.add_argument("--programs", type=int, default=0)
    parser.add_argument("--threads", type=int, default=LARGEST_WORK)
    parser.add_argument("--values", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    write(options.folder, options.settings, options.programs, options.threads, options.seed, options.values)


if __name__ == "__main__":
    main()
