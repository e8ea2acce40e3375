"""Makes the shipped encoder from nothing: writes synthesised traces, and trains GCL-Sampler's network on them.

    python lab/benchmarks/checkpoint.py FOLDER -o builtin.safetensors [--settings 48] [--programs 600] [--epochs 24] [--seed 0]

The traces are those of training_data.py at seed 11, in FOLDER; those of an earlier call are taken as they are. The families
HELD_OUT are left out. No recorded trace is used, so every recorded list judges the encoder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from training_data import write

from kernelpoint_lab.commands.train import train_encoder
from kernelpoint_lab.training.config import TrainingConfig

HELD_OUT = ("reduction", "layer_norm", "pooling", "histogram")
THREADS, DATA_SEED = 1 << 14, 11


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
        write(options.folder, options.settings, options.programs, THREADS, DATA_SEED)
    lists = [str(one) for one in sorted(options.folder.glob("*/kernelslist.g")) if one.parent.name not in HELD_OUT]
    excluded = [str(options.folder / name / "kernelslist.g") for name in HELD_OUT]
    train_encoder(lists, options.output, TrainingConfig(epochs=options.epochs, seed=options.seed), excluded)


if __name__ == "__main__":
    main()
