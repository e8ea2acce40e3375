"""Agreement of the embeddings of one kernel launch between its Accel-Sim and its MacSim trace.

Converts lists of Accel-Sim traces into a temporary folder, embeds every stream of both with the builtin encoder, and prints
per list: streams, the cosine of a stream's two embeddings (mean, smallest), how often the MacSim embedding's nearest
neighbour among all Accel-Sim embeddings of the lists is its own stream (or one of the same kernel), and, as the measure to
compare with, the cosine between different streams of the Accel-Sim format.

    python lab/benchmarks/formats.py KERNELSLIST...
"""

from __future__ import annotations

import argparse
import tempfile

import numpy as np

from kernelpoint.encoder.embed import embed_streams
from kernelpoint.simulators.macsim.convert import convert_to_macsim
from kernelpoint.traces import ArtefactCache, read_trace_list, scan_launches


def compare(lists: list[str]) -> None:
    """Embed the launches of each list, written in two trace formats, and print the number of distinct instruction sequences."""
    names, owners, both = [], [], [[], []]
    for number, path in enumerate(lists):
        with tempfile.TemporaryDirectory() as folder:
            convert_to_macsim(path, f"{folder}/macsim")
            cache = ArtefactCache()  # the user's: a run that was stopped goes on with the embeddings it had
            tables = [scan_launches(read_trace_list(p).traces, cache) for p in (path, f"{folder}/macsim")]
            assert not tables[0].errors and not tables[1].errors
            merged = len(set(zip(*(t.stream_ids.tolist() for t in tables), strict=True)))
            print(
                f"{path}: {tables[0].size} launches, streams {[len(t.read.of_streams) for t in tables]}, pairs of them {merged}"
            )
            # Streams pair up by their launches; a MacSim stream may stand for several of Accel-Sim's.
            first = tables[0].first_launches
            partner = tables[1].stream_ids[first]
            for side, table in enumerate(tables):
                embeddings = embed_streams(table.read, cache)
                both[side].append(embeddings if side == 0 else embeddings[partner])
            names += [tables[0].names[launch] for launch in first.tolist()]
            owners += [number] * len(first)
    accelsim, macsim = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in map(np.concatenate, both))
    report(lists, np.array(names), np.array(owners), accelsim @ macsim.T, accelsim @ accelsim.T)


def report(lists: list[str], names: np.ndarray, owners: np.ndarray, across: np.ndarray, within: np.ndarray) -> None:
    """Print a row for each list: how similar the embeddings of an instruction sequence from two trace formats are, and how
    often they are nearest neighbours.
    """
    nearest = across.argmax(axis=0)
    sequences = np.arange(len(names))
    print("list | streams | cosine mean min | same stream nearest | same kernel | others' cosine")
    for number in [*range(len(lists)), None]:
        rows = sequences if number is None else np.flatnonzero(owners == number)
        cosine = across[rows, rows]
        others = within[np.ix_(rows, sequences)][sequences[None] != rows[:, None]]
        print(
            f"{'all' if number is None else lists[number][-30:]} | {len(rows)} | {cosine.mean():.3f} {cosine.min():.3f} | "
            f"{(nearest[rows] == rows).mean():.3f} | {(names[nearest[rows]] == names[rows]).mean():.3f} | "
            f"{np.mean(others):.3f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="+", metavar="KERNELSLIST")
    compare(parser.parse_args().lists)
