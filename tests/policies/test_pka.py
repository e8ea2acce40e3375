"""Principal kernel selection: the number of clusters, two-level profiling, counters from traces."""

import numpy as np
import pytest

from kernelpoint.config import parse_config
from kernelpoint.policies.conformance import synthetic_scan as scan
from kernelpoint.policies.methods.pka import COUNTERS, Pka
from kernelpoint.program import ProgramBuilder
from kernelpoint.workload import Available, Need

KINDS = {"small": 1.0, "middle": 40.0, "large": 900.0}


def profile(kinds, counted=None, times=None):
    """Launches of three kernels; only the first `counted` have counters."""
    builder = ProgramBuilder("ncu.csv")
    for index, kind in enumerate(kinds):
        size = KINDS[kind]
        has = counted is None or index < counted
        counters = {name: size * (i + 1) for i, name in enumerate(COUNTERS)} if has else {}
        duration = 100.0 * size if times is None else times[index]
        builder.add(kind, (int(size), 1, 1), (128, 1, 1), 32, 0, 7, index, duration, counters=counters)
    return builder.finish()


def design(made, relative_error=0.05):
    config = parse_config({"version": 1, "policy": "pka", "error_budget": {"relative_error": relative_error}})
    return Pka(config).design(made)


KINDS_IN_ORDER = ["small", "large", "middle", "small", "middle", "large", "small"] * 5


def test_kernels_that_differ_get_a_cluster_each_and_the_first_launch_represents():
    made = design(profile(KINDS_IN_ORDER), relative_error=0.001)
    assert made.chosen.tolist() == [0, 1, 2]
    assert [len(set(np.array(KINDS_IN_ORDER)[made.strata == h])) for h in range(3)] == [1, 1, 1]


def test_the_smallest_number_of_clusters_that_meets_the_target_is_taken():
    same = profile(["small"] * 10 + ["middle"] * 10, times=[50.0] * 20)
    assert len(design(same).chosen) == 1, "one principal kernel already projects the total"


def test_a_looser_target_never_takes_more_clusters():
    rng = np.random.default_rng(0)
    kinds = rng.choice(list(KINDS), 60).tolist()
    times = [100.0 * KINDS[k] * rng.normal(1, 0.05) for k in kinds]
    counts = [len(design(profile(kinds, times=times), error).chosen) for error in (0.001, 0.05, 0.5)]
    assert counts == sorted(counts, reverse=True)


def test_launches_without_counters_follow_their_name_and_shape():
    made = design(profile(KINDS_IN_ORDER, counted=14))
    for kind in KINDS:
        assert len(set(made.strata[[k == kind for k in KINDS_IN_ORDER]])) == 1
    assert (made.chosen < 14).all() and (made.strata >= 0).all()


def test_traces_are_asked_for_only_where_counters_are_missing():
    assert Pka.inputs(Available(profile(KINDS_IN_ORDER))) == {Need.PROFILE}
    assert Pka.inputs(Available(profile(KINDS_IN_ORDER, counted=14))) == {Need.PROFILE}, "names and shapes say the rest"
    missing = profile(KINDS_IN_ORDER).take(np.array([*range(14), *[-1] * 21]))
    assert Pka.inputs(Available(missing)) == {Need.TRACES}, "only the traces know the others"
    assert Pka.inputs(Available()) == {Need.TRACES}


def test_counters_of_the_first_launches_are_enough_where_traces_know_the_others():
    table = scan(120)
    builder = ProgramBuilder("ncu.csv")
    for launch in range(30):
        stream = int(table.stream_ids[launch])
        counters = {name: 10.0 * (1 + stream) ** 2 * (i + 1) for i, name in enumerate(COUNTERS)}
        builder.add("any", (1, 1, 1), (32, 1, 1), duration=100.0 * (1 + stream) ** 2, counters=counters)
    detailed = builder.finish().take(np.where(np.arange(120) < 30, np.arange(120), -1))
    config = parse_config({"version": 1, "policy": "pka", "error_budget": {"relative_error": 0.001}})
    made = Pka(config).design(detailed.with_contents_of(table))
    assert (made.strata >= 0).all() and (made.chosen < 30).all()
    for stream in np.unique(table.stream_ids):
        assert len(set(made.strata[table.stream_ids == stream])) == 1


def test_where_no_number_of_clusters_meets_the_target_the_one_closest_beforehand_is_taken():
    times = [100.0] * 34 + [1e6]  # the last launch has the counters of the others: no cluster can tell it apart
    made = design(profile(["small"] * 35, times=times), relative_error=0.01)
    assert made.chosen.tolist() == [0]


def test_counters_are_computed_from_traces_and_the_total_known_beforehand_is_instructions():
    table = scan(120)
    config = parse_config({"version": 1, "policy": "pka", "error_budget": {"relative_error": 0.01}})
    made = Pka(config).design(table)
    first, size = made.chosen, made.sizes
    projected = (size[made.strata[first]] * table.count("instructions")[first]).sum()
    assert projected == pytest.approx(table.count("instructions").sum(), rel=0.01)
