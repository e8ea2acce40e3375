"""GCL-Sampler: clusters of embeddings, first launches, unreadable traces."""

from dataclasses import replace

import numpy as np

from kernelpoint.clustering import silhouette_kmeans
from kernelpoint.config import parse_config
from kernelpoint.policies.methods.gcl import Gcl
from kernelpoint.policies.synthetic_population import make, stream_of


def test_streams_with_far_apart_embeddings_are_clusters_and_their_first_launches_represent():
    policy, population = make("gcl", 120)
    points = np.zeros((6, 256), dtype=np.float32)
    points[:, 0] = [0, 100, 200, 0.1, 100.1, 200.1]
    made = policy.design(replace(population, embeddings=points))
    assert np.array_equal(made.strata, stream_of(120) % 3)
    assert made.chosen.tolist() == [0, 1, 2]


def test_a_launch_whose_trace_cannot_be_read_is_simulated():
    policy, population = make("gcl", 120)
    broken = population.scan.stream_ids.copy()
    broken[[0, 50]] = -1
    made = policy.design(replace(population, scan=replace(population.scan, stream_ids=broken)))
    assert made.strata[[0, 50]].tolist() == [-1, -1] and (np.delete(made.strata, [0, 50]) >= 0).all()
    assert 0 not in made.chosen


def test_equal_embeddings_are_one_cluster():
    policy, population = make("gcl", 40)
    streams = len(population.scan.streams)
    made = policy.design(replace(population, embeddings=np.ones((streams, 256), dtype=np.float32)))
    assert made.chosen.tolist() == [0] and made.sizes.tolist() == [40]


def test_every_stream_counts_as_often_as_it_is_launched_and_is_clustered_once(monkeypatch):
    policy, population = make("gcl", 120)
    seen = []

    def noted(rows, weights, *settings):
        seen.append((len(rows), list(weights)))
        return silhouette_kmeans(rows, weights, *settings)

    monkeypatch.setattr("kernelpoint.policies.methods.gcl.silhouette_kmeans", noted)
    made = policy.design(population)
    rows = population.embeddings[population.scan.stream_ids]
    assert seen[0] == (6, np.bincount(stream_of(120)).tolist())
    assert np.array_equal(made.strata, silhouette_kmeans(rows, np.ones(120), 20, population.seed))


def test_work_as_a_feature_tells_sizes_of_one_kernel_apart():
    _, population = make("gcl", 120)
    settings = [parse_config({"version": 1, "policy": {"name": "gcl", "work_scale": scale}}) for scale in (0, 10)]
    work = np.array([10, 10, 10_000, 10, 10, 10_000])[stream_of(120)]
    records = population.scan.records.copy()
    records["counts"] = work[:, None]
    scan = replace(population.scan, records=records)
    given = replace(population, scan=scan, embeddings=np.ones((6, 256), np.float32))
    alone, sized = (Gcl(config).design(given).strata for config in settings)
    assert np.array_equal(alone, np.zeros(120)) and np.array_equal(sized, work == 10_000)
