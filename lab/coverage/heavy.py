"""Heavy single launches: where names, shapes, order or position tell them, and where nothing does.

    python lab/coverage/heavy.py --seeds 40

A program of made_up.py in which one launch or some take a tenth of the total; those that lie anywhere lie elsewhere for every
seed. Share of runs whose interval holds the total; speedup; share of runs whose sentence on single launches is wrong, because
none was drawn, all are smaller than the size that it names, and the interval does not hold; share of runs that drew one; the
probability that the others name.
Half of the kinds, `judged`, were only looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import numpy as np
from made_up import program
from populations import Population, with_metadata
from runs import Numbers, arguments, print_table, share, speedup, text_of
from trouble import Launches

from kernelpoint.estimation import ErrorBudget
from kernelpoint.program import Labels, Program
from kernelpoint.randomness import generator
from kernelpoint.repeated import Texts

SHARE = 0.1  # of the total, of all heavy launches together
Chosen = Callable[[Launches, np.random.Generator], np.ndarray]  # bool [N], the heavy launches


def _at(p: Launches, *places: int) -> np.ndarray:
    return np.isin(np.arange(len(p.y)), [place % len(p.y) for place in places])


# kinds, and what is told of the heavy launches: "name", "shape", or nothing but where they lie
KINDS: dict[str, tuple[str, Chosen]] = {
    "a name of its own": ("name", lambda p, r: _at(p, 2500)),
    "shapes of their own": ("shape", lambda p, r: _at(p, 700, 2500, 4100)),
    "first of a kernel": ("", lambda p, r: p.first(1, "kernel") & (r.random(len(p.y)) < 0.3)),
    "behind a rare launch": ("behind", lambda p, r: _at(p, 900, 2900, 4900)),
    "one of every second step": ("", lambda p, r: p.every_step(2, 31)),
    "first launch of the run": ("", lambda p, r: _at(p, 0)),
    "one, anywhere": ("", lambda p, r: _at(p, int(r.integers(500, len(p.y))))),
    "three, anywhere": ("", lambda p, r: _at(p, *r.integers(500, len(p.y), 3).tolist())),
}
JUDGED: dict[str, tuple[str, Chosen]] = {
    "judged names of their own": ("name", lambda p, r: _at(p, 100, 5100)),
    "judged a shape of its own": ("shape", lambda p, r: _at(p, 3300)),
    "judged first of a signature": ("", lambda p, r: p.first(1) & (r.random(len(p.y)) < 0.2)),
    "judged before a rare launch": ("before", lambda p, r: _at(p, 1500, 3500)),
    "judged first of every step": ("", lambda p, r: p.every_step(1, 14)),
    "judged last launch of the run": ("", lambda p, r: _at(p, -1)),
    "judged one, anywhere": ("", lambda p, r: _at(p, int(r.integers(500, len(p.y))))),
    "judged four, anywhere": ("", lambda p, r: _at(p, *r.integers(500, len(p.y), 4).tolist())),
}


def _told(profile: Program, heavy: np.ndarray, by: str) -> Program:
    """Mark the heavy launches in the program's names or shapes, as `by` says: "name", "shape", "behind" or "before";
    otherwise leave them unmarked.
    """
    names, shapes = profile.names, profile.labels.shapes[profile.label]
    if by == "shape":
        shapes[heavy, :3] = 7 * shapes[heavy, :3] + 3
    elif (marked := {"name": heavy, "behind": np.roll(heavy, -1), "before": np.roll(heavy, 1)}.get(by)) is not None:
        distinct = (*names.distinct, "rare kernel")
        names = Texts(distinct, np.where(marked, len(distinct) - 1, names.numbers).astype(np.int32))
    labels, label = Labels.of(names, shapes)
    return replace(profile, labels=labels, label=label)


def heavy(name: str) -> Iterator[tuple[Population, np.ndarray, np.ndarray]]:
    """Populations with a few heavy launches, one for each seed: values of the launches, float64 [N], and True for the heavy
    ones, bool [N].
    """
    by, choose = {**KINDS, **JUDGED}[name]
    random = generator(17, "heavy " + name)
    base, profile = program(random, **({"launches": 8000, "signatures": 90} if name in JUDGED else {}))
    chosen = choose(base, random)
    people = with_metadata(name, base.y, _told(profile, chosen, by))
    for seed in count():
        if "anywhere" in name:
            chosen = choose(base, generator(seed, "anywhere " + name))
        yield people, np.where(chosen, SHARE * base.y.sum() / chosen.sum(), base.y), chosen


def numbers(name: str, eps: float, seeds: int) -> Numbers:
    """Make sampled runs of populations with heavy launches, and return for each: bound right, share simulated, sentence on the
    heavy launch wrong, heavy launch drawn, stated probability.
    """
    for seed, (people, y, chosen) in zip(range(seeds), heavy(name), strict=False):
        run = people.run(ErrorBudget(eps), seed, cycles=y)
        open_unit = run.look.open_unit
        multiple, likely = (open_unit.times, open_unit.probability) if open_unit else (np.inf, 1.0)
        held, seen = run.held(), bool(chosen[run.engine.drawn()].any())
        small = float(y[chosen].sum()) < multiple * float(y[~chosen].mean())
        yield held, run.spent, not held and not seen and small, seen, np.nan if seen else likely


def main() -> None:
    parser = arguments(__doc__, 40, "0.05,0.01")
    parser.add_argument("--only", default="", help="kinds whose name holds this")
    options = parser.parse_args()
    print_table(
        ["heavy launches", "budget"],
        {"held": share, "speedup": speedup, "statement wrong": share, "drawn": share, "probability where not": share},
        (
            ((name, text_of(eps)), numbers(name, eps, options.seeds))
            for name in (*KINDS, *JUDGED)
            if options.only in name
            for eps in options.budgets
        ),
    )


if __name__ == "__main__":
    main()
