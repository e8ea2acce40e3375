"""Clusters: against scikit-learn and slow oracles, the estimator contract, and the pitfalls of the silhouette."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import silhouette_score

from kernelpoint.clustering import SilhouetteKMeans, ThresholdClusters, run_features
from kernelpoint.clustering.estimator import nearest
from kernelpoint.clustering.kmeans import weighted_silhouettes
from kernelpoint.errors import ConfigError
from kernelpoint.randomness import generator

ESTIMATORS = [SilhouetteKMeans(max_clusters=5, n_init=2), ThresholdClusters(0.5), ThresholdClusters(0.5, merge=0.4)]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)


def blobs(count=6, each=20, spread=0.02, seed=0):
    random = generator(seed, "test blobs")
    centers = random.normal(size=(count, 8)) * 2
    rows = np.repeat(centers, each, 0) + spread * random.normal(size=(count * each, 8))
    return rows, np.repeat(np.arange(count), each)


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@each_estimator
def test_an_estimator_clones_and_keeps_its_parameters_unchanged(estimator):
    copy = clone(estimator)
    assert copy is not estimator and copy.get_params() == estimator.get_params()
    assert not hasattr(copy, "labels_")
    with pytest.raises(ValueError, match="no parameter 'colour'"):
        copy.set_params(colour=1)


@each_estimator
def test_fitting_twice_forgets_the_first_time_and_leaves_the_input(estimator):
    rows, _ = blobs()
    before = rows.copy()
    once = clone(estimator).fit(rows)
    twice = clone(estimator).fit(rows[:30] * 3).fit(rows)
    assert np.array_equal(rows, before)
    assert np.array_equal(once.labels_, twice.labels_) and np.array_equal(once.cluster_centers_, twice.cluster_centers_)


@each_estimator
def test_predicting_the_fitted_rows_gives_their_labels(estimator):
    rows, _ = blobs(count=3)
    fitted = clone(estimator).fit(rows)
    assert np.array_equal(fitted.predict(rows), fitted.labels_)
    assert fitted.labels_[0] == 0 and set(fitted.labels_) == set(range(len(fitted.cluster_centers_)))


@each_estimator
def test_predicting_before_fitting_is_refused(estimator):
    with pytest.raises(Exception, match="call fit before predict"):
        clone(estimator).predict(np.zeros((2, 2)))


@each_estimator
@pytest.mark.parametrize(
    ("rows", "message"),
    [(np.zeros(3), "2D"), (np.zeros((0, 3)), "0 sample"), (np.zeros((3, 0)), "0 feature"),
     (np.array([[np.nan], [1.0]]), "NaN"), (np.array([[np.inf], [1.0]]), "infinity")],
)  # fmt: skip
def test_rows_that_cannot_be_clustered_are_refused_with_the_reason(estimator, rows, message):
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(rows)


@each_estimator
def test_rows_of_another_width_are_refused(estimator):
    with pytest.raises(ValueError, match=r"9 features.*expecting 8"):
        clone(estimator).fit(blobs()[0]).predict(np.zeros((1, 9)))


@pytest.mark.parametrize(
    ("estimator", "parameter"),
    [(ThresholdClusters(0), "threshold"), (ThresholdClusters(1, -1), "merge"), (SilhouetteKMeans(1), "max_clusters"),
     (SilhouetteKMeans(tie=-1), "tie"), (SilhouetteKMeans(most_points=2), "most_points")],
)  # fmt: skip
def test_parameters_that_cannot_be_are_refused_by_name(estimator, parameter):
    with pytest.raises(ConfigError, match=f"{parameter} of {type(estimator).__name__}"):
        estimator.fit(blobs()[0])


def test_silhouette_k_means_finds_clusters_that_lie_apart():
    rows, truth = blobs(count=6)
    found = SilhouetteKMeans(max_clusters=10, n_init=3).fit(rows)
    assert same_partition(found.labels_, truth)
    assert max(found.silhouettes_, key=found.silhouettes_.get) == 6


def test_the_silhouette_can_collapse_to_two_clusters_where_thresholds_do_not():
    """One far-away launch decides K (seen by others on ResNet-50: 263 launches against 2)."""
    rows, truth = blobs(count=6, spread=0.01)
    rows, truth = np.vstack([rows, np.full((2, 8), 500.0)]), np.append(truth, [6, 6])
    collapsed = SilhouetteKMeans(max_clusters=10, n_init=3).fit(rows)
    assert len(collapsed.cluster_centers_) == 2 and (collapsed.labels_ == 0).sum() == 120
    assert same_partition(ThresholdClusters(0.5).fit_predict(rows), truth)


def test_weighted_silhouettes_are_scikit_learns_on_repeated_rows(monkeypatch):
    monkeypatch.setattr("kernelpoint.clustering.kmeans.BLOCK", 100)
    random = generator(0, "test silhouette")
    points, weights = random.normal(size=(30, 3)), random.integers(1, 6, 30)
    labellings = [random.integers(0, count, 30) for count in (4, 2, 7)]
    rows = np.repeat(points, weights, 0)
    expected = [silhouette_score(rows, np.repeat(labels, weights)) for labels in labellings]
    assert weighted_silhouettes(points, weights, labellings) == pytest.approx(expected, abs=1e-6)


def test_a_row_of_some_weight_is_that_many_equal_rows_and_one_of_weight_zero_is_none():
    rows, _ = blobs(count=4, each=5, spread=0.4)
    weights = np.array([0, 1, 2, 3, 4] * 4)
    weighted = SilhouetteKMeans(max_clusters=8, n_init=3).fit(rows, sample_weight=weights)
    repeated = SilhouetteKMeans(max_clusters=8, n_init=3).fit(np.repeat(rows, weights, 0))
    assert weighted.silhouettes_ == repeated.silhouettes_
    assert np.array_equal(weighted.cluster_centers_, repeated.cluster_centers_)
    assert np.array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)


@pytest.mark.parametrize("weights", [[1.0], [-1.0] * 8, [0.0] * 8, [np.nan] * 8])
def test_weights_that_cannot_be_are_refused(weights):
    with pytest.raises(ValueError, match="sample_weight"):
        SilhouetteKMeans().fit(np.eye(8), sample_weight=weights)


def test_k_chosen_on_some_of_many_points_gives_clusters_of_all():
    rows, truth = blobs(count=6, each=40)
    found = SilhouetteKMeans(max_clusters=10, n_init=3, most_points=60).fit(rows)
    assert same_partition(found.labels_, truth)
    assert np.allclose(found.cluster_centers_, [rows[truth == label].mean(0) for label in range(6)])


def test_equal_rows_are_one_cluster():
    for estimator in (SilhouetteKMeans(), ThresholdClusters()):
        assert estimator.fit_predict(np.ones((5, 2))).tolist() == [0] * 5


def test_thresholds_find_clusters_that_lie_apart():
    rows, truth = blobs()
    assert same_partition(ThresholdClusters(0.5).fit_predict(rows), truth)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 1000), threshold=st.floats(0.1, 4), merge=st.floats(0, 3))
def test_centers_left_after_merging_lie_further_apart_than_merge(seed, threshold, merge):
    rows = generator(seed, "test merge").normal(size=(60, 2))
    centers = ThresholdClusters(threshold, merge)._merged(rows.copy(), np.ones(60))
    gaps = [np.linalg.norm(a - b) for i, a in enumerate(centers) for b in centers[:i]]
    assert all(gap > merge for gap in gaps)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 1000), merge=st.floats(0.1, 1.5))
def test_merging_agrees_with_looking_at_all_pairs_each_time(seed, merge):
    rows = generator(seed, "test merge").normal(size=(25, 2))
    fast = ThresholdClusters(1.0, merge)._merged(rows.copy(), np.ones(25))
    assert np.allclose(fast, slow_merge(rows, merge))


def slow_merge(rows, merge):
    centers, sizes = [*rows], [1.0] * len(rows)
    while len(centers) > 1:
        gaps = {(i, j): np.linalg.norm(centers[i] - centers[j]) for j in range(len(centers)) for i in range(j)}
        (i, j), gap = min(gaps.items(), key=lambda item: item[1])
        if gap > merge:
            break
        centers[i] = (sizes[i] * centers[i] + sizes[j] * centers[j]) / (sizes[i] + sizes[j])
        sizes[i] += sizes[j]
        del centers[j], sizes[j]
    return np.array(centers)


def test_online_labels_are_final_and_do_not_depend_on_how_rows_are_handed_in():
    rows, _ = blobs(spread=0.3)
    whole = ThresholdClusters(1.0).partial_fit(rows)
    pieces, labels = ThresholdClusters(1.0), []
    for start in range(0, len(rows), 7):
        labels += pieces.partial_fit(rows[start : start + 7]).labels_.tolist()
        centers = pieces.cluster_centers_.copy()
    assert labels == whole.labels_.tolist() and np.array_equal(centers, whole.cluster_centers_)


def test_online_rows_lie_within_the_threshold_of_their_center():
    rows, _ = blobs(spread=0.3)
    found = ThresholdClusters(0.8).partial_fit(rows)
    assert np.linalg.norm(rows - found.cluster_centers_[found.labels_], axis=1).max() <= 0.8


def test_the_nearest_center_and_its_distance_are_exact():
    rows, _ = blobs()
    labels, distances = nearest(rows, rows)
    assert labels.tolist() == list(range(len(rows))) and not distances.any()


def test_run_features_join_unit_embedding_work_and_neighbours():
    embedding, work = np.array([[3.0, 4.0], [0.0, 2.0], [0.0, 0.0]]), np.array([[1], [3], [0]])
    rows = run_features(embedding, work, context=(-1, 1), work_scale=1, context_scale=0.5)
    assert rows.tolist() == [
        [0.6, 0.8, 1, 0, 0, 0, 0.5],
        [0, 1, 2, 0.3, 0.4, 0, 0],
        [0, 0, 0, 0, 0.5, 0, 0],
    ]


@pytest.mark.parametrize("work", [[[1]], [[-1], [2]]])
def test_work_that_does_not_fit_is_refused(work):
    with pytest.raises(ConfigError, match="work"):
        run_features(np.ones((2, 2)), np.array(work))


def test_clustering_by_thresholds_imports_no_scikit_learn():
    code = (
        "import sys, numpy as np\n"
        "from kernelpoint.clustering import ThresholdClusters\n"
        "ThresholdClusters().fit(np.eye(3)).predict(np.eye(3))\n"
        "print([m for m in ('sklearn', 'scipy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
