"""GCL-Sampler: clusters of embeddings, first launches, unreadable traces."""

from dataclasses import replace

import numpy as np

from kernelpoint.clustering import silhouette_kmeans
from kernelpoint.policies.conformance import make, stream_of


def test_streams_with_far_apart_embeddings_are_clusters_and_their_first_launches_represent():
    policy, population = make("gcl", 120)
    points = np.zeros((6, 256), dtype=np.float32)
    points[:, 0] = [0, 100, 200, 0.1, 100.1, 200.1]
    made = policy.design(replace(population, embeddings=points))
    assert np.array_equal(made.strata, stream_of(120) % 3)
    assert made.chosen.tolist() == [0, 1, 2]


def test_a_launch_whose_trace_cannot_be_read_is_simulated():
    policy, population = make("gcl", 120)
    broken = population.contents.stream_ids.copy()
    broken[[0, 50]] = -1
    made = policy.design(replace(population, contents=replace(population.contents, stream_ids=broken)))
    assert made.strata[[0, 50]].tolist() == [-1, -1] and (np.delete(made.strata, [0, 50]) >= 0).all()
    assert 0 not in made.chosen


def test_equal_embeddings_are_one_cluster():
    policy, population = make("gcl", 40)
    streams = len(population.contents.of_streams)
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
    rows = population.embeddings[population.stream_ids]
    assert seen[0] == (6, np.bincount(stream_of(120)).tolist())
    assert np.array_equal(made.strata, silhouette_kmeans(rows, np.ones(120), 20, population.seed))
