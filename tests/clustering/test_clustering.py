"""Clusters: against scikit-learn, and the pitfalls of the silhouette."""

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from kernelpoint.clustering import silhouette_kmeans, threshold_clusters, unit_rows
from kernelpoint.clustering.kmeans import weighted_silhouettes
from kernelpoint.clustering.threshold import nearest
from kernelpoint.randomness import generator


def blobs(count=6, each=20, spread=0.02, seed=0):
    random = generator(seed, "test blobs")
    centers = random.normal(size=(count, 8)) * 2
    rows = np.repeat(centers, each, 0) + spread * random.normal(size=(count * each, 8))
    return rows, np.repeat(np.arange(count), each)


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


def k_means(rows, max_clusters=10):
    return silhouette_kmeans(rows, np.ones(len(rows)), max_clusters, 0)


def test_both_find_clusters_that_lie_apart_and_number_them_as_they_come():
    rows, truth = blobs(count=6)
    for labels in (k_means(rows), threshold_clusters(rows, 0.5)):
        assert same_partition(labels, truth)
        assert list(dict.fromkeys(labels.tolist())) == list(range(6))


def test_the_silhouette_can_collapse_to_two_clusters_where_thresholds_do_not():
    """One far-away launch decides K (seen by others on ResNet-50: 263 launches against 2)."""
    rows, truth = blobs(count=6, spread=0.01)
    rows, truth = np.vstack([rows, np.full((2, 8), 500.0)]), np.append(truth, [6, 6])
    assert k_means(rows).tolist() == [0] * 120 + [1, 1]
    assert same_partition(threshold_clusters(rows, 0.5), truth)


def test_weighted_silhouettes_are_scikit_learns_on_repeated_rows(monkeypatch):
    monkeypatch.setattr("kernelpoint.clustering.kmeans.BLOCK", 100)
    random = generator(0, "test silhouette")
    points, weights = random.normal(size=(30, 3)), random.integers(1, 6, 30)
    labellings = [random.integers(0, count, 30) for count in (4, 2, 7)]
    rows = np.repeat(points, weights, 0)
    expected = [silhouette_score(rows, np.repeat(labels, weights)) for labels in labellings]
    assert weighted_silhouettes(points, weights, labellings) == pytest.approx(expected, abs=1e-6)


def test_a_row_of_some_weight_is_that_many_equal_rows():
    rows, _ = blobs(count=4, each=5, spread=0.4)
    weights = np.array([5, 1, 2, 3, 4] * 4)
    weighted = silhouette_kmeans(rows, weights, 8, 0)
    assert np.array_equal(np.repeat(weighted, weights), k_means(np.repeat(rows, weights, 0), 8))


def test_k_chosen_on_some_of_many_points_gives_clusters_of_all(monkeypatch):
    monkeypatch.setattr("kernelpoint.clustering.kmeans.MOST_POINTS", 60)
    rows, truth = blobs(count=6, each=40)
    assert same_partition(k_means(rows), truth)


def test_equal_rows_are_one_cluster():
    for labels in (k_means(np.ones((5, 2))), threshold_clusters(np.ones((5, 2)), 0.25)):
        assert labels.tolist() == [0] * 5


def test_a_row_opens_a_cluster_only_beyond_the_threshold():
    assert [threshold_clusters(np.array([[0.0], [x]]), 0.75).tolist() for x in (0.75, 0.7501)] == [[0, 0], [0, 1]]


def test_the_nearest_center_and_its_distance_are_exact():
    rows, _ = blobs()
    labels, distances = nearest(rows, rows)
    assert labels.tolist() == list(range(len(rows))) and not distances.any()


def test_rows_are_scaled_to_length_one_and_zeros_stay():
    assert unit_rows(np.array([[3.0, 4.0], [0.0, 2.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0, 1], [0, 0]]
