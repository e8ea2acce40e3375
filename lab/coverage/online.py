"""Coverage and cost of runs whose launches nobody knows beforehand, against runs planned from the list.

    python lab/coverage/online.py LIST... --gpu v100 --seeds 60 --truth as-it-is,drift,late

Every run goes through `session.boundary.open` with the journal, as a simulator would; results are those of a full run of the
embedded host. `drift` makes launches slower along the run, from 1 to 2 times; `late` makes the last fifth 1.5 times slower: no
new stream, so no new cluster tells. Reading and embedding are remembered between seeds.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from replayed import Replayed, say

import kernelpoint.encoder
import kernelpoint.traces
from kernelpoint.journal.text import plain
from kernelpoint.session import boundary


def remember(workload: Replayed) -> None:
    """Reading and embedding of the list are done once."""
    kernelpoint.traces.scan_launches = lambda *args, **named: workload.scan
    kernelpoint.encoder.embed_streams = lambda *args, **named: workload.embeddings


def run(workload: Replayed, y: np.ndarray, budget: float, seed: int, online: bool, folder: Path) -> dict[str, Any]:
    """One run to its end; the summary."""
    journal, config, count = folder / "run.kpjournal", folder / "kernelpoint.yaml", len(y)
    config.write_text(
        f"version: 1\npolicy: kernelpoint\nseed: {seed}\njournal: {journal}\nclusters: {'online' if online else 'plan'}\n"
        f"error_budget: {{relative_error: {budget}}}\n"
    )
    told = {"launch_counts": [0 if online else count], "list_paths": [None if online else workload.source]}
    session = boundary.open(str(config), {"simulator": "replay", "config_hash": "gpu", **told}, lambda line: None)
    after = -1
    while True:
        status, index = session.next(0, after)
        if status == 0 and index >= count:
            status, index = session.next(0, -2)
        if status != 0:
            break
        after = index
        if session.on_launch(0, index, workload.paths[index])[0] == 0:
            session.on_complete(0, index, False, int(y[index]), 1)
    session.finish()
    session.journal.close()
    for path in folder.glob("run.kpjournal*"):
        path.unlink()
    return plain(session.summary)


def truths(y: np.ndarray, names: str) -> dict[str, np.ndarray]:
    """The recorded cycles, and what becomes of them where behaviour changes without a change of the instructions."""
    position = np.arange(len(y)) / len(y)
    known = {
        "as-it-is": y,
        "drift": np.round(y * (1 + position)),
        "late": np.round(np.where(position > 0.8, 1.5 * y, y)),
    }
    return {name: known[name] for name in names.split(",")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lists", nargs="+")
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("--truth", default="as-it-is,drift,late")
    parser.add_argument("--budgets", default="0.05,0.01")
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--folder", type=Path, default=Path("out/paired"), help="where full runs are kept")
    options = parser.parse_args()
    read, embed = kernelpoint.traces.scan_launches, kernelpoint.encoder.embed_streams
    for source in options.lists:
        kernelpoint.traces.scan_launches, kernelpoint.encoder.embed_streams = read, embed
        workload = Replayed.read(source, options.folder)
        known = truths(workload.cycles(options.gpu), options.truth)
        remember(workload)
        say(f"{workload.name}: {len(workload.paths)} launches")
        for name, y in known.items():
            for budget in map(float, options.budgets.split(",")):
                for online in (True, False):
                    with tempfile.TemporaryDirectory() as folder:
                        found = [run(workload, y, budget, s, online, Path(folder)) for s in range(options.seeds)]
                    error = np.array([s["estimate"] for s in found]) / y.sum() - 1
                    width = np.array([s["relative_half_width"] for s in found])
                    share = np.array([s["counters"]["cycles"]["simulated"] for s in found]) / y.sum()
                    row = [np.mean(np.abs(error) <= width + 1e-9), 1 / share.mean(), np.abs(error).mean()]
                    say(
                        f"{workload.name:<20} {name:<9} {100 * budget:g} % {'online' if online else 'plan':<7} "
                        f"cover {row[0]:.3f} cycle speedup {row[1]:.1f} error {100 * row[2]:.3f} % "
                        f"simulated {np.mean([s['simulated'] for s in found]):.0f} "
                        f"passes {np.mean([s['passes'] for s in found]):.1f}"
                    )


if __name__ == "__main__":
    main()
