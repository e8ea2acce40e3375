"""Selections by layer: layers are drawn, and launches in them; the bound is on the total of all launches."""

import csv

import numpy as np
import pytest
from command_line import run_command
from listed_host import Listed

from kernelpoint.estimation import Design, Engine, ErrorBudget, Tree, passes, subtotals
from kernelpoint.journal import load_run
from kernelpoint.planning.selecting import in_layer
from kernelpoint.randomness import generator, permanent_random_numbers
from kernelpoint.selection import Selection

LAYERS, BODY = 64, np.array([0, 1, 2, *[3] * 20, *[4] * 9, 5])
OF_LAYER, KERNELS = np.repeat(np.arange(LAYERS), len(BODY)), np.tile(BODY, LAYERS)


@pytest.fixture
def drawn(census, tmp_path):
    """A selection of ten phases of ten layers of four launches each."""
    rows = [f"{launch},phase.{launch // 40}/layer.{launch // 4 % 10}\n" for launch in range(400)]
    (tmp_path / "layers.csv").write_text("launch,path\n" + "".join(rows))
    done = run_command(
        "select",
        census,
        "-o",
        "drawn",
        "--by",
        "layer",
        "--ranges",
        "layers.csv",
        "--relative-error",
        "0.05",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "100 layers of 2 kinds" in done.stderr
    return tmp_path / "drawn"


def test_whole_layers_are_traced_and_the_script_names_their_ranges(drawn):
    traced = Selection.load(drawn / "selection.kpselect").traced.reshape(100, 4)
    assert (traced.all(axis=1) == traced.any(axis=1)).all()
    assert 0 < traced.all(axis=1).sum() < 100
    with (drawn / "ranges.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["path"] for row in rows[:5]] == ["phase.0/layer.0"] * 4 + ["phase.0/layer.1"]
    assert len(rows) == 400
    assert "ranges: $here/ranges.csv" in (drawn / "trace.sh").read_text()


def test_a_run_over_drawn_layers_states_the_total_of_all_launches_and_its_ranges(drawn, trace, host):
    numbers = Selection.load(drawn / "selection.kpselect").numbers
    listed = Listed(host, numbers - 1)
    more = f"\nranges: {drawn / 'ranges.csv'}"
    summary = listed.run(listed.open(drawn / "selection.kpselect", trace(numbers), more=more))
    assert summary["launches"] == 400
    assert summary["met"]
    assert abs(summary["estimate"] - host.cycles.sum()) <= summary["half_width"]
    with (drawn / "ranges.csv").open() as file:
        paths = np.array([row["path"] for row in csv.DictReader(file)])
    for path, part in load_run(host.folder / "run.kpjournal").ranges.items():
        stated, truth = part.estimates["cycles"], host.cycles[np.char.startswith(paths, path)].sum()
        assert abs(stated.estimate - truth) <= stated.half_width < 0.5 * truth
    layers, count = np.unique(np.array(host.simulated) // 4, return_counts=True)
    assert (count == 4).all()
    assert len(layers) < 60


@pytest.mark.parametrize("words", [["--by", "kernel"], ["--ranges", "detected"]])
def test_other_units_are_refused(census, tmp_path, words):
    done = run_command("select", census, "-o", "drawn", *words, cwd=tmp_path)
    assert done.returncode != 0
    assert "allowed: launch, layer" in done.stderr


def engine(seed, budget):
    u, second = permanent_random_numbers(seed, 0, LAYERS), generator(seed, "second stage").random(len(KERNELS))
    weights = in_layer(OF_LAYER, KERNELS, second)
    strata, first = np.zeros(len(KERNELS), int), np.array([6])
    design = Design(strata, first, u[OF_LAYER], layers=OF_LAYER, in_layer=weights, kernels=KERNELS, balanced=True)
    return Engine(design, ErrorBudget(budget))


def truth(between, inside, drift=0.0):
    numbers = generator(1, f"layers {between} {inside}")
    y = np.array([100.0, 400.0, 200.0, 50.0, 80.0, 1000.0])[KERNELS] * numbers.lognormal(0.0, inside, len(KERNELS))
    return y * np.exp(between * numbers.standard_normal(LAYERS) + drift * np.linspace(-1.0, 1.0, LAYERS))[OF_LAYER]


@pytest.mark.parametrize(
    "between, inside, drift", [(0.05, 0.05, 0.0), (0.0, 0.3, 0.0), (0.1, 0.02, 0.0), (0.02, 0.1, 0.2)]
)
def test_the_bound_covers_both_stages(between, inside, drift):
    y, held, share = truth(between, inside, drift), [], []
    for seed in range(40):
        one = engine(seed, 0.04)
        *_, look = passes(one, ("cycles",), y)
        held.append(look.estimates["cycles"].contains(y.sum()))
        share.append(len(one.drawn()) / len(y))
    assert np.mean(held) >= 0.93
    assert np.mean(share) < 0.6


@pytest.mark.parametrize("between, inside, drift", [(0.05, 0.05, 0.0), (0.0, 0.3, 0.0), (0.02, 0.1, 0.2)])
def test_the_half_width_of_each_range_covers_both_stages(between, inside, drift):
    y, held = truth(between, inside, drift), []
    tree = Tree(np.array([-1] + [0] * 8 + [1 + layer // 8 for layer in range(LAYERS)]), 9 + OF_LAYER)
    totals = tree.sums(y)[: tree.count]
    for seed in range(25):
        one = engine(seed, 0.04)
        *_, look = passes(one, ("cycles",), y)
        results = np.isin(np.arange(len(y)), one.drawn())
        errors = one.unit_errors("cycles")
        found = subtotals(tree, look.estimates["cycles"], one.predict(np.arange(len(y)))[:, 0], results, errors, False)
        held.append([part.contains(total) for part, total in zip(found, totals, strict=True)])
    assert np.mean(held) >= 0.95
    assert np.mean(held, axis=0)[1:9].min() >= 0.9


def test_all_layers_leave_the_error_inside_them():
    y, one = truth(0.0, 0.5), engine(0, 0.001)
    *_, look = passes(one, ("cycles",), y)
    found = look.estimates["cycles"]
    assert len(one.sampling.inner.drawn()) == LAYERS
    assert len(one.drawn()) < len(y)
    assert not look.met
    assert 0.0 < abs(found.estimate - y.sum()) <= found.half_width < 0.02 * y.sum()
    assert one.predict(np.arange(len(y))).sum() == pytest.approx(found.estimate)
