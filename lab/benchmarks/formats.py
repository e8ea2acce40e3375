"""Agreement of the embeddings of one kernel launch between its Accel-Sim and its MacSim trace.

Converts lists of Accel-Sim traces into a temporary folder, embeds every stream of both with the builtin encoder, and prints
per list: streams, the cosine of a stream's two embeddings (mean, smallest), how often the MacSim embedding's nearest
neighbour among all Accel-Sim embeddings of the lists is its own stream (or one of the same kernel), the same with the
features of work that clusters are made on, and, as the measure to compare with, the cosine between different streams of the
Accel-Sim format. Before that, per list, how far the clusters of the `kernelpoint` policy agree (adjusted Rand index).

    python lab/benchmarks/formats.py KERNELSLIST...
"""

from __future__ import annotations

import sys
import tempfile

import numpy as np
from sklearn.metrics import adjusted_rand_score

from kernelpoint.clustering.features import WORK_COLUMNS, run_features, unit_rows
from kernelpoint.config import parse_config
from kernelpoint.encoder.embed import embed_streams
from kernelpoint.planning.planning import Planning
from kernelpoint.policies.registry import load_policy
from kernelpoint.simulators.macsim.convert import convert_to_macsim
from kernelpoint.traces import ArtefactCache, ScanTable, launch_paths, scan_launches
from kernelpoint.workload import population_of
from kernelpoint.workload.host_info import HostInfo


def streams_of(table: ScanTable, cache: ArtefactCache) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings [S, 256] and work [S, 4] of a table's streams."""
    first = table.first_launches()
    work = np.stack([getattr(table, name)[first] for name in WORK_COLUMNS], axis=1)
    return embed_streams(table, cache), work


def clusters_of(traces: str) -> np.ndarray:
    """The cluster of every launch of a list under the default policy."""
    settings, policy = parse_config({"version": 1, "policy": "kernelpoint"}, "benchmark"), load_policy("kernelpoint")
    population = population_of(HostInfo(simulator="benchmark", list_paths=(traces,)), 0)
    return Planning.of(settings, policy, population).make(lambda text: None).cluster_of_unit()


def compare(lists: list[str]) -> None:
    """Print one row per list."""
    names, owners, both = [], [], [[], []]
    works: list[list[np.ndarray]] = [[], []]
    for number, path in enumerate(lists):
        with tempfile.TemporaryDirectory() as folder:
            convert_to_macsim(path, f"{folder}/macsim")
            cache = ArtefactCache()  # the user's: a run that was stopped goes on with the embeddings it had
            tables = [scan_launches(launch_paths(p), cache) for p in (path, f"{folder}/macsim")]
            assert not tables[0].errors and not tables[1].errors
            merged = len(set(zip(*(t.stream_ids.tolist() for t in tables), strict=True)))
            print(
                f"{path}: {len(tables[0])} launches, streams {[len(t.streams) for t in tables]}, pairs of them {merged}"
            )
            # Streams pair up by their launches; a MacSim stream may stand for several of Accel-Sim's.
            first = tables[0].first_launches()
            partner = tables[1].stream_ids[first]
            for side, table in enumerate(tables):
                embeddings, work = streams_of(table, cache)
                both[side].append(embeddings if side == 0 else embeddings[partner])
                works[side].append(work if side == 0 else work[partner])
            clusters = [clusters_of(p) for p in (path, f"{folder}/macsim")]
            counts = [len(np.unique(one)) for one in clusters]
            print(f"    clusters {counts}, adjusted Rand index {adjusted_rand_score(*clusters):.3f}")
            names += tables[0].stream_names()
            owners += [number] * len(first)
    accelsim, macsim = (unit_rows(np.concatenate(part)) for part in both)
    features = [run_features(e, np.concatenate(w)) for e, w in zip((accelsim, macsim), works, strict=True)]
    report(lists, np.array(names), np.array(owners), accelsim @ macsim.T, accelsim @ accelsim.T, features)


def report(
    lists: list[str], names: np.ndarray, owners: np.ndarray, across: np.ndarray, within: np.ndarray, features: list
) -> None:
    """The table."""
    nearest = across.argmax(axis=0)
    distance = np.linalg.norm(features[0][:, None] - features[1][None], axis=2)
    nearest_work = distance.argmin(axis=0)
    own = np.arange(len(names))
    print(
        "list | streams | cosine mean min | same stream nearest | same kernel | with work: stream, kernel | others' cosine"
    )
    for number in [*range(len(lists)), None]:
        rows = own if number is None else np.flatnonzero(owners == number)
        cosine = across[rows, rows]
        others = within[np.ix_(rows, own)][own[None] != rows[:, None]]
        print(
            f"{'all' if number is None else lists[number][-30:]} | {len(rows)} | {cosine.mean():.3f} {cosine.min():.3f} | "
            f"{(nearest[rows] == rows).mean():.3f} | {(names[nearest[rows]] == names[rows]).mean():.3f} | "
            f"{(nearest_work[rows] == rows).mean():.3f} {(names[nearest_work[rows]] == names[rows]).mean():.3f} | "
            f"{np.mean(others):.3f}"
        )


if __name__ == "__main__":
    compare(sys.argv[1:])
