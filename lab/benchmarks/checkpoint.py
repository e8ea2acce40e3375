"""Training of the shipped encoder: writes synthesised traces, and trains GCL-Sampler's network on them.

    python lab/benchmarks/checkpoint.py FOLDER -o builtin.safetensors [--settings 48] [--programs 600] [--epochs 24] [--seed 0]

Each family gets a folder in FOLDER with `--settings` launches: every size is drawn log-uniformly between a quarter of the small
default and twice the medium one, and launches of more than THREADS threads are drawn again. The folder `program` gets random
warp programs. Traces of an earlier call are taken as they are. The families HELD_OUT are left out of training. No recorded
trace is used, so every recorded list judges the encoder.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kernelpoint.randomness import generator
from kernelpoint_lab.commands.train import train_encoder
from kernelpoint_lab.synth.families import FAMILIES, Family
from kernelpoint_lab.synth.launch import Launch, Memory
from kernelpoint_lab.synth.lists import LIST, write_list
from kernelpoint_lab.training.trainer import TrainingConfig

HELD_OUT = ("reduction", "layer_norm", "pooling", "histogram")
THREADS, DATA_SEED = 1 << 14, 11
TRIES = 200


def draw_sizes(family: Family, random: np.random.Generator) -> dict[str, int]:
    """Random value of each size parameter of a kernel family, within its limits."""
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
    """Random launches of a kernel family, `settings` of them. Sizes are drawn again, at most `TRIES` times, until a launch is
    small enough.
    """
    for number in range(settings):
        random = generator(seed, f"training data {family.name}", number)
        for _ in range(TRIES):
            launch = family.build(Memory(), random, draw_sizes(family, random))
            if launch.ctas * launch.threads <= threads:
                break
        yield launch


def write(folder: Path, settings: int, programs: int) -> None:
    """Write the launches of each family into a folder, and print the number of traces and their size for each."""
    for family in FAMILIES.values():
        if count := programs if family.name == "program" else settings:
            (folder / family.name).mkdir(parents=True, exist_ok=True)
            drawn = launches(family, count, DATA_SEED, THREADS)
            totals = write_list(drawn, folder / family.name, count, {"name": family.name, "seed": DATA_SEED})
            print(f"{family.name:12} {totals.files:4} traces {totals.bytes / 1e6:8.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--settings", type=int, default=48, help="launches of each family")
    parser.add_argument("--programs", type=int, default=600, help="random warp programs")
    parser.add_argument("--epochs", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0, help="of training")
    options = parser.parse_args()
    if not (options.folder / "program").is_dir():
        write(options.folder, options.settings, options.programs)
    lists = [str(path) for path in sorted(options.folder.glob(f"*/{LIST}")) if path.parent.name not in HELD_OUT]
    excluded = [str(options.folder / name / LIST) for name in HELD_OUT]
    train_encoder(lists, options.output, TrainingConfig(epochs=options.epochs, seed=options.seed), excluded)


if __name__ == "__main__":
    main()
