"""The lists on which methods of the literature are compared, and where the error of `gcl` comes from.

    python lab/benchmarks/papers.py lists FOLDER [--small]
    python lab/benchmarks/papers.py gcl WORKLOAD ...            # as `kernelpoint compare -w` takes them

lists   writes nine lists into FOLDER: the five workloads, and one list of each kernel family that the builtin encoder was not
        trained on. Those that are there are left. `--small`: sizes whose full run takes Accel-Sim a minute or two.
gcl     for each workload the clusters of `gcl`; the variation of cycles inside them; the error of the total if the mean of all
        launches with equal traces stood for each representative; the error if the first of them stood for each launch.

`kernelpoint compare -w traces=FOLDER/NAME/kernelslist.g,host=v100 ... -p pka,sieve,stem,allegro,gcl,kernelpoint` compares.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from checkpoint import HELD_OUT, THREADS, launches

from kernelpoint.config import parse_config
from kernelpoint.evaluation.evaluate import Inputs
from kernelpoint.evaluation.workload import Workload, load_workload, parse_request
from kernelpoint.policies.methods.gcl import Gcl
from kernelpoint.randomness import generator
from kernelpoint_lab.commands.synth import synth
from kernelpoint_lab.synth.families import FAMILIES
from kernelpoint_lab.synth.launch import Launch
from kernelpoint_lab.synth.lists import LIST, write_list
from kernelpoint_lab.synth.workloads import WORKLOADS

SHAPES = 40  # of a list of a family
SMALL = {
    "transformer-decode": ["layers=2", "heads=1", "vocabulary=64"],
    "cnn-inference": ["size=8", "channels=4,8,16"],
    "iterative-solver": ["rows=256,512,1024"],
    "training-step": ["hidden=16", "vocabulary=64", "tokens=16,32,48"],
}


def family_list(name: str, folder: Path, size: int, threads: int) -> None:
    """Write a list of `size` launches of a kernel family. Sizes are drawn from SHAPES different ones, with probability
    proportional to 1 / rank.
    """
    folder.mkdir(parents=True)
    distinct, random = list(launches(FAMILIES[name], SHAPES, 0, threads)), generator(0, f"list of {name}")
    shares = 1.0 / (1.0 + random.permutation(SHAPES))
    drawn: Iterator[Launch] = (distinct[k] for k in random.choice(SHAPES, size, p=shares / shares.sum()))
    write_list(drawn, folder, size, {"name": name, "seed": 0})


def write_lists(folder: Path, small: bool) -> None:
    """Write nine trace lists: workloads of 3,000 launches, training-step and the kernel families of 1,000; a tenth of each if
    `small`.
    """
    size, threads = (100, THREADS // 4) if small else (1000, THREADS)
    for name in WORKLOADS:
        if not (folder / name / LIST).exists():
            sizes = SMALL.get(name) if small else None
            synth(name, folder / name, launches=size if name == "training-step" else 3 * size, sizes=sizes)
    for name in HELD_OUT:
        if not (folder / name / LIST).exists():
            family_list(name, folder / name, size, threads)


def errors_of_gcl(workload: Workload) -> str:
    """Row of a table for one workload: number of clusters of `gcl`, variation of cycles in them, and two errors of the
    total.
    """
    config = parse_config({"version": 1, "policy": "gcl", "seed": 0})
    program, _, _ = Inputs(workload, print).program(Gcl, config)
    design, content = Gcl(config).design(program), program.stream_ids
    cycles, strata, chosen = workload.results, np.asarray(design.strata), np.asarray(design.chosen)
    means = np.bincount(content, cycles) / np.bincount(content)
    inside = [cycles[strata == h] for h in range(len(chosen))]
    cov = np.average([c.std() / c.mean() for c in inside], weights=[c.sum() for c in inside])
    mixed = float((design.sizes[strata[chosen]] * means[content[chosen]]).sum())
    cold = float(cycles[np.unique(content, return_index=True)[1]][content].sum())
    first, second = (100 * (total / workload.total - 1) for total in (mixed, cold))
    return f"| {workload.name} | {len(chosen)} | {cov:.2f} | {first:+.2f} % | {second:+.2f} % |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    lists = commands.add_parser("lists")
    lists.add_argument("folder", type=Path)
    lists.add_argument("--small", action="store_true")
    commands.add_parser("gcl").add_argument("workloads", nargs="+")
    options = parser.parse_args()
    if options.what == "lists":
        write_lists(options.folder, options.small)
        return
    print("| List | Clusters of gcl | CoV inside | Error of clusters | Error of first launches |\n|" + "---|" * 5)
    for text in options.workloads:
        print(errors_of_gcl(load_workload(parse_request(text), communication=True, log=print)), flush=True)


if __name__ == "__main__":
    main()
