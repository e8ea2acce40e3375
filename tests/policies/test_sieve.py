"""Sieve's three tiers and its projection."""

import numpy as np
import pytest

from kernelpoint.config import parse_config
from kernelpoint.estimation import Engine, ErrorBudget
from kernelpoint.policies.methods.sieve import Sieve, density_cuts
from kernelpoint.program import ProgramBuilder


def population(launches):
    """Launches as (kernel, instructions, threads of a CTA)."""
    builder = ProgramBuilder("synthetic")
    for name, instructions, threads in launches:
        builder.add(name, (1, 1, 1), (threads, 1, 1), counters={"warp_instructions": float(instructions)})
    return builder.finish()


def design(launches):
    return Sieve(parse_config({"version": 1, "policy": "sieve"})).design(population(launches))


def test_tier_1_a_kernel_that_never_varies_is_represented_by_its_first_launch():
    made = design([("b", 7, 32), ("a", 5, 32), ("a", 5, 32), ("b", 7, 32)])
    assert made.chosen.tolist() == [0, 1] and len(made.first_sizes) == 2


def test_tier_1_does_not_look_at_cta_sizes():
    made = design([("a", 5, 64), ("a", 5, 128), ("a", 5, 128)])
    assert made.chosen.tolist() == [0]


def test_tier_2_ends_where_the_coefficient_of_variation_reaches_two_fifths():
    assert len(design([("a", 61, 32), ("a", 139, 32)]).chosen) == 1, "0.39"
    assert len(design([("a", 60, 32), ("a", 140, 32)]).chosen) == 2, "0.40"


def test_tier_3_splits_a_part_that_still_varies_by_more_than_half_once_more():
    counts = [1.0, 2.0, 500.0, 501.0, 900_000.0]  # 50 points lie 18,367 apart: the first pass sees one heap below
    made = design([("a", count, 32) for count in counts])
    groups = [set(np.flatnonzero(made.strata == h)) for h in range(len(made.first_sizes))]
    assert {0, 1} in groups and {2, 3} in groups and {4} in groups


def test_tier_2_takes_the_dominant_cta_size_and_its_most_frequent_count():
    made = design([("a", 100, 64), ("a", 110, 128), ("a", 105, 128), ("a", 110, 128), ("a", 100, 64)])
    assert made.chosen.tolist() == [1] and made.sizes.tolist() == [5]


def test_tier_3_cuts_a_kernel_that_varies_much():
    counts = [10, 11, 12, 1000, 1001, 1002, 5000]
    made = design([("a", count, 32) for count in counts])
    groups = [set(np.flatnonzero(made.strata == h)) for h in range(len(made.first_sizes))]
    assert {0, 1, 2} in groups and {3, 4, 5} in groups and {6} in groups
    assert made.chosen.tolist() == [1, 4, 6], "the launch with the middle one of the distinct counts represents"


def test_counts_that_do_not_differ_are_not_cut():
    assert len(density_cuts(np.full(9, 5.0))) == 0


def test_cycles_are_projected_with_the_harmonic_mean_of_ipc_weighted_with_instructions():
    counts = np.array([100, 110, 100, 4000, 4400, 300_000])
    cycles = np.array([50.0, 60, 55, 1000, 1050, 40_000])
    made = design([("a", c, 32) for c in counts])
    engine = Engine(made, ErrorBudget(0.05, bound="none"), "separate_ratio")
    engine.record_many(engine.wanted(), ("cycles",), cycles[engine.wanted()][:, None])
    weight = np.array([counts[made.strata == made.strata[c]].sum() for c in made.chosen]) / counts.sum()
    ipc = counts[made.chosen] / cycles[made.chosen]
    expected = counts.sum() / (1.0 / (weight / ipc).sum())
    assert engine.look().estimates["cycles"].estimate == pytest.approx(expected, rel=1e-12)


def test_a_launch_without_a_count_is_simulated():
    made = design([("a", 5, 32), ("a", float("nan"), 32), ("a", 5, 32)])
    assert made.strata.tolist() == [0, -1, 0]
