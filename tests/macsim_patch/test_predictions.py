"""Predicted cycles of MacSim's launches: by the model of its cores, which knows what the branch predictors have learned."""

import numpy as np
import pytest

from kernelpoint import _native
from kernelpoint.fast_model import configuration_for, predict

KNOBS = "num_sim_small_cores 2\nmax_block_per_core 2\nmax_threads_per_core 8\nbp_hist_length 6\n"


@pytest.fixture
def predicted(tmp_path):
    """Cycles and mispredictions of the launches of these paths, under MacSim's knobs."""

    def ask(paths, knobs=KNOBS):
        gpu = configuration_for("auto", "macsim", knobs, "", paths, lambda line: None)
        copies = np.zeros((0, 3), dtype=np.uint64)
        found = predict(paths, copies, gpu, f"{paths}", lambda line: None, folder=tmp_path / "kept")
        return found.counters["cycles"].tolist(), found.counters["mispredictions"].tolist()

    return ask


@pytest.fixture
def paths(launches_in, instruction):
    """Ten launches of one kernel with branches that are never taken, between two of one without."""
    branching = {0: [instruction("other", 64 * i, 0, "not") for i in range(20)]}
    computing = {0: [instruction("other", 16 * i) for i in range(20)]}
    config = launches_in("list", [computing, *[branching] * 10, computing])
    return _native.read_trace_list(str(config))[0]


def test_a_launch_is_predicted_to_take_less_once_its_branches_are_learned(predicted, paths):
    cycles, mispredictions = predicted(paths)
    assert mispredictions[1] > 0 and mispredictions[10] == 0
    assert cycles[1] > cycles[10]
    assert mispredictions[0] == mispredictions[11] == 0


@pytest.mark.parametrize("knob", ["perfect_bp 1", "use_branch_prediction 0"])
def test_predictors_that_are_never_wrong_cost_nothing(predicted, paths, knob):
    cycles, mispredictions = predicted(paths, f"{KNOBS}{knob}\n")
    assert set(mispredictions) == {0}
    assert cycles[10] == predicted(paths)[0][10]


def test_a_launch_without_a_readable_trace_is_not_predicted(predicted, paths, tmp_path):
    cycles, mispredictions = predicted([paths[1], "", str(tmp_path / "missing/trace.txt"), paths[1]])
    assert np.isnan(cycles).tolist() == np.isnan(mispredictions).tolist() == [False, True, True, False]


def test_predictions_of_other_knobs_are_not_taken_for_these(predicted, paths):
    before = predicted(paths)
    assert predicted(paths, KNOBS.replace("bp_hist_length 6", "bp_hist_length 2")) != before
    assert predicted(paths) == before


def test_only_cores_of_macsim_have_a_model_of_their_own():
    other = configuration_for("v100", "accelsim", "", "", [], lambda line: None)
    with pytest.raises(ValueError, match="no model of their own"):
        _native.fast_model.run_cores([], other, 1, lambda done, total: None)


def test_an_error_of_the_progress_ends_the_predictions(paths):
    gpu = configuration_for("auto", "macsim", KNOBS, "", paths, lambda line: None)

    def fails(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _native.fast_model.run_cores(paths, gpu, 1 << 20, fails)
