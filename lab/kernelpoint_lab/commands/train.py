"""`kernelpoint train`: train an encoder on traces."""

from __future__ import annotations

import os
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kernelpoint import __version__
from kernelpoint.cli.console import Console
from kernelpoint.errors import ConfigError
from kernelpoint.extras import needs_extra
from kernelpoint.progress import WorkProgress, telling

if TYPE_CHECKING:
    from kernelpoint_lab.training.config import TrainingConfig
    from kernelpoint_lab.training.data import TrainingData
    from kernelpoint_lab.training.log import EpochRecord
    from kernelpoint_lab.training.observations import Observations
    from kernelpoint_lab.training.trainer import Trainer


def train(
    traces: Annotated[list[Path], typer.Argument(help="Trace lists, or folders of kernel-N.traceg files.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the encoder (.safetensors).")],
    exclude: Annotated[
        list[Path] | None,
        typer.Option(help="A trace list kept for testing; its sequences and kernel names are left out. Repeatable."),
    ] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the distinct graphs.")] = 24,
    batch_size: Annotated[int, typer.Option(help="Graphs in a batch.")] = 48,
    same_kernel: Annotated[
        str, typer.Option(help="Two graphs of one kernel are to each other: positive, ignored or negative.")
    ] = "positive",
    loss_on: Annotated[str, typer.Option(help="The input of the loss: head, embedding or both.")] = "both",
    together: Annotated[int, typer.Option(help="Graphs of one kernel that stand together in a batch.")] = 4,
    per_kernel: Annotated[int, typer.Option(help="Graphs of one kernel in an epoch, at most.")] = 24,
    observe: Annotated[
        list[Path] | None,
        typer.Option(help="A further list to train on, whose launches the fast model observes. Repeatable."),
    ] = None,
    readout: Annotated[
        list[Path] | None,
        typer.Option(help="A further list, observed too: the readout is fitted to these. Repeatable."),
    ] = None,
    kin: Annotated[
        list[Path] | None,
        typer.Option(help="A list as --readout, of kernels with one purpose, which become neighbours. Repeatable."),
    ] = None,
    observed: Annotated[
        float, typer.Option(help="Weight of the loss on observations, beside the contrastive loss.")
    ] = 2.0,
    start: Annotated[str | None, typer.Option(help="An encoder to start from: builtin, or a file.")] = None,
    hidden_tokens: Annotated[float, typer.Option(help="Share of nodes whose tokens a view hides.")] = 0.05,
    learning_rate: Annotated[float, typer.Option(help="Peak of the cosine schedule.")] = 1e-3,
    temperature: Annotated[float, typer.Option(help="Of the contrastive loss.")] = 0.05,
    embedding_temperature: Annotated[float, typer.Option(help="Of the loss on embeddings.")] = 0.2,
    max_nodes: Annotated[
        int, typer.Option(min=100, max=10**9, help="Bound on the nodes of a graph in training.")
    ] = 4000,
    seed: Annotated[int, typer.Option(help="Seed of weights, order, views and dropout.")] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    threads: Annotated[int, typer.Option(help="Threads on the CPU.")] = 1,
    resume: Annotated[bool, typer.Option(help="Go on from OUTPUT's .state file, where it exists.")] = False,
) -> None:
    """Train an encoder on traces.

    Example: kernelpoint train traces/kernelslist.g -o mine.safetensors
    """
    with telling("loading PyTorch", Console(stderr=True).print), needs_extra("training"):
        from kernelpoint_lab.training.config import TrainingConfig
    config = TrainingConfig(
        epochs=epochs, batch_size=batch_size, same_kernel=same_kernel, loss_on=loss_on, together=together,
        per_kernel=per_kernel, hidden_tokens=hidden_tokens, learning_rate=learning_rate, temperature=temperature,
        embedding_temperature=embedding_temperature, observed=observed, seed=seed, device=device, threads=threads,
    )  # fmt: skip
    lists = Lists(*([str(path) for path in some or []] for some in (traces, observe, readout, kin, exclude)))
    _train(lists, output, config, start, max_nodes, resume)


class Lists(NamedTuple):
    """Trace lists by purpose."""

    traces: list[str]
    observed: list[str]
    readout: list[str]
    kin: list[str]
    excluded: list[str]

    @property
    def watched(self) -> list[str]:
        """Lists whose launches are observed."""
        return [*self.observed, *self.readout, *self.kin]


def _train(lists: Lists, output: Path, config: TrainingConfig, start: str | None, max_nodes: int, resume: bool) -> None:
    """Trains on all lists, without the sequences and kernels of the excluded ones; writes the encoder."""
    from kernelpoint.encoder.checkpoint import checkpoint_path
    from kernelpoint_lab.training.data import training_data
    from kernelpoint_lab.training.trainer import Trainer

    console = Console(stderr=True)
    if output.suffix != ".safetensors":
        raise ConfigError(f"--output: {output} given, a name that ends in .safetensors is needed")
    if not (output.parent.is_dir() and os.access(output.parent, os.W_OK)):
        raise ConfigError(f"--output: {output} given, but {output.parent} is no folder that can be written")
    reading = WorkProgress("reading", "traces", console.print)
    data = training_data(lists.traces + lists.watched, lists.excluded, max_nodes, progress=reading)
    console.print("  ".join(f"{name} {count:,}" for name, count in data.counts().items()))
    observations = _observe(data, lists, console) if lists.watched else None
    trainer = Trainer(data.graphs, config, data.names, checkpoint_path(start) if start else None, observations)
    records = _run(trainer, output, resume, console)
    fitted = _fit(trainer, data, lists, observations) if observations else {}
    trainer.save_encoder(output, _card(data, max_nodes, records) | fitted)
    console.print(f"{output}: {output.stat().st_size / 1e6:.2f} MB, loss {records[-1].loss:.3f}")


def _observe(data: TrainingData, lists: Lists, console: Console) -> Observations:
    """Observes the launches of some lists."""
    from kernelpoint_lab.training.observations import observe

    families = _rows(data, [*lists.observed, *lists.readout]) | _rows(data, lists.kin, kin=True)
    if len(families) < 2:
        raise ConfigError(f"--observe: {len(families)} launch(es) that no other list has, at least 2 are needed")
    return observe(data, families, WorkProgress("observing", "launches", console.print))


def _rows(data: TrainingData, lists: list[str], kin: bool = False) -> dict[int, int]:
    """Graphs made of launches of some lists, with their families: the numbers of the lists of kin, else -1."""
    from kernelpoint.traces import launch_paths

    family = {path: number if kin else -1 for number, one in enumerate(lists) for path in launch_paths(one)}
    return {row: family[path] for row, path in enumerate(data.paths) if path in family}


def _fit(trainer: Trainer, data: TrainingData, lists: Lists, observations: Observations) -> dict[str, object]:
    """Fits the readout to the observations of its lists, where there are some."""
    from kernelpoint.clustering.features import WORK_SCALE
    from kernelpoint_lab.training.readout import fit_readout

    told: dict[str, object] = {"observed": len(observations.rows)}
    fitted = observations.of(_rows(data, [*lists.readout, *lists.kin]))
    if len(fitted.rows) < 2:
        return told
    loss = fit_readout(trainer.encoder.cpu(), trainer.graphs, fitted, WORK_SCALE, trainer.config.seed)
    return told | {"fitted": len(fitted.rows), "readout_loss": round(loss, 4)}


def _run(trainer: Trainer, output: Path, resume: bool, console: Console) -> list[EpochRecord]:
    from kernelpoint_lab.training.log import read_log, write_log

    state, log = output.with_suffix(".state"), output.with_suffix(".log.csv")
    records: list[EpochRecord] = []
    if resume and state.exists():
        trainer.load_state(state)
        records = read_log(log)[: trainer.epoch]
        console.print(f"going on after epoch {trainer.epoch} of {state}")
    batches, epochs = trainer.batches, trainer.config.epochs - trainer.epoch
    shown, done = WorkProgress("training", "batches", console.print), count(1)

    def advance() -> None:
        loss = f", loss {records[-1].loss:.3f}" if records else ""
        shown(next(done), epochs * batches, note=f"epoch {trainer.epoch + 1} of {trainer.config.epochs}{loss}")

    while trainer.epoch < trainer.config.epochs:
        records.append(trainer.run_epoch(advance))
        trainer.save_state(state)
        write_log(log, records)
    return records


def _card(data: TrainingData, max_nodes: int, records: list[EpochRecord]) -> dict[str, object]:
    last = asdict(records[-1])
    return {"kernelpoint": __version__, "data": data.counts(), "max_nodes": max_nodes, "result": last}
