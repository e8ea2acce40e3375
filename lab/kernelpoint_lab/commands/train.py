"""`kernelpoint lab train`: train an encoder on traces."""

from __future__ import annotations

import os
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelpoint import __version__
from kernelpoint.cli.console import log
from kernelpoint.errors import ConfigError
from kernelpoint.extras import needs_extra
from kernelpoint.progress import WorkProgress, elapsed_time

if TYPE_CHECKING:
    from kernelpoint_lab.training.data import TrainingData
    from kernelpoint_lab.training.trainer import EpochRecord, Trainer, TrainingConfig


def train(
    traces: Annotated[list[Path], typer.Argument(help="Trace lists, or folders of kernel-N.traceg files.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the encoder (.safetensors).")],
    exclude: Annotated[
        list[Path] | None,
        typer.Option(help="A trace list kept for testing; its sequences and kernel names are left out. Repeatable."),
    ] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the distinct graphs.")] = 24,
    seed: Annotated[int, typer.Option(help="Seed of weights, order, views and dropout.")] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    resume: Annotated[bool, typer.Option(help="Go on from OUTPUT's .state file, where it exists.")] = False,
) -> None:
    """Train an encoder on traces, as GCL-Sampler does.

    Example: kernelpoint lab train traces/kernelslist.g -o mine.safetensors
    """
    with elapsed_time("loading PyTorch", log), needs_extra("training"):
        from kernelpoint_lab.training.trainer import TrainingConfig
    config = TrainingConfig(epochs=epochs, seed=seed, device=device)
    train_encoder([str(path) for path in traces], output, config, [str(path) for path in exclude or ()], resume)


def train_encoder(lists: list[str], output: Path, config: TrainingConfig, excluded: list[str], resume: bool = False) -> None:
    """Train on all lists, without the sequences and kernels of the excluded lists; write the encoder and its log.

    Raises:
        ConfigError: the output cannot be written, or there are fewer than two distinct graphs.
    """
    from kernelpoint_lab.training.data import training_data
    from kernelpoint_lab.training.trainer import Trainer

    if output.suffix != ".safetensors":
        raise ConfigError(f"--output: {output} given, a name that ends in .safetensors is needed")
    if not (output.parent.is_dir() and os.access(output.parent, os.W_OK)):
        raise ConfigError(f"--output: {output} given, but {output.parent} is no folder that can be written")
    reading = WorkProgress("reading", "traces", log)
    data = training_data(lists, excluded, config.max_nodes, progress=reading)
    log("  ".join(f"{name} {count:,}" for name, count in data.counts().items()))
    trainer = Trainer(data.graphs, config)
    records = _run(trainer, output, resume)
    trainer.save_encoder(output, _card(data, records, lists, excluded))
    log(f"{output}: {output.stat().st_size / 1e6:.2f} MB, loss {records[-1].loss:.3f}")


def _run(trainer: Trainer, output: Path, resume: bool) -> list[EpochRecord]:
    from kernelpoint_lab.training.trainer import read_log, write_log

    state, log_file = output.with_suffix(".state"), output.with_suffix(".log.csv")
    records: list[EpochRecord] = []
    if resume and state.exists():
        trainer.load_state(state)
        records = read_log(log_file)[: trainer.epoch]
        log(f"going on after epoch {trainer.epoch} of {state}")
    batches, epochs = trainer.batches, trainer.config.epochs - trainer.epoch
    shown, done = WorkProgress("training", "batches", log), count(1)

    def advance() -> None:
        loss = f", loss {records[-1].loss:.3f}" if records else ""
        shown(next(done), epochs * batches, note=f"epoch {trainer.epoch + 1} of {trainer.config.epochs}{loss}")

    while trainer.epoch < trainer.config.epochs:
        records.append(trainer.run_epoch(advance))
        trainer.save_state(state)
        write_log(log_file, records)
    return records


def _card(data: TrainingData, records: list[EpochRecord], lists: list[str], excluded: list[str]) -> dict[str, object]:
    """Names of the folders of the lists that the encoder was trained on, which are no judges of it."""
    names = {"lists": lists, "excluded": excluded}
    folders = {
        key: [(path if path.is_dir() else path.parent).name for path in map(Path, value)] for key, value in names.items()
    }
    return {"kernelpoint": __version__, **folders, "data": data.counts(), "result": asdict(records[-1])}
