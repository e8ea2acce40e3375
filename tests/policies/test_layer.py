"""One representative layer times N."""

import numpy as np
import pytest

from kernelpoint.config import parse_config
from kernelpoint.policies.methods.layer import Layer, equal_layers
from kernelpoint.program import ProgramBuilder

LAYER = ("norm", "gemm", "gelu", "gemm2")
NAMES = ("embed", *LAYER * 8, "head")


def design(place=0.5, names=NAMES):
    builder = ProgramBuilder("made up")
    for launch, name in enumerate(names):
        builder.add(name, (1, 1, 1), (32, 1, 1), order=launch, duration=1.0)
    config = parse_config({"version": 1, "policy": {"name": "layer", "place": place}})
    return Layer(config).design(builder.finish())


@pytest.mark.parametrize(("place", "first"), [(0.0, 1), (0.5, 17), (1.0, 29)])
def test_the_launches_of_one_layer_stand_for_those_at_their_place_in_all_and_those_outside_are_simulated(place, first):
    made = design(place)
    assert made.chosen.tolist() == [first, first + 1, first + 2, first + 3]
    assert made.strata.tolist() == [-1, *[0, 1, 2, 3] * 8, -1]


def test_without_layers_everything_is_simulated():
    made = design(names=("a", "b", "c"))
    assert made.strata.tolist() == [-1, -1, -1]
    assert len(made.chosen) == 0


def test_layers_of_two_iterations_are_the_same_layers():
    iteration = [9, *[1, 2, 3] * 4, 8]
    positions = equal_layers(np.array(iteration * 3))
    assert len(np.unique(positions)) == 2 + 3
    assert positions[1] == positions[4] == positions[1 + len(iteration)]
    assert positions[0] != positions[1]
