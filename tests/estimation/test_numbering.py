"""Labels are numbered as np.unique numbers them, and units ordered as np.lexsort orders them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernelpoint.estimation.numbering import in_order, number_labels, rank_in


@given(st.lists(st.integers(-5, 40)) | st.lists(st.integers(-(2**60), 2**60)))
def test_labels_are_numbered_in_ascending_order_with_the_first_unit_of_each(labels):
    values = np.array(labels, dtype=np.int64)
    _, first, number = np.unique(values, return_index=True, return_inverse=True)
    found = number_labels(values)
    assert found.first.tolist() == first.tolist() and found.number.tolist() == number.tolist()


@given(st.lists(st.tuples(st.integers(-1, 5) | st.integers(0, 2**60), st.integers(0, 2**20) | st.floats(0.0, 2.0**20))))
def test_units_are_ordered_by_label_then_number_then_place(pairs):
    labels = np.array([label for label, _ in pairs], dtype=np.int64)
    u = np.array([number for _, number in pairs], dtype=float) / (2.0**20 + 1.0)
    assert in_order(labels, u).tolist() == np.lexsort((u, labels)).tolist()
    assert in_order(labels).tolist() == np.argsort(labels, kind="stable").tolist()
    places = np.lexsort((u, labels)).tolist()
    before = [sum(labels[other] == labels[unit] for other in places[:at]) for at, unit in enumerate(places)]
    assert rank_in(labels, u)[places].tolist() == before


def test_numbers_that_agree_in_their_leading_bits_are_ordered_too():
    u = 0.5 + np.random.default_rng(0).permutation(2000) * 2.0**-52
    labels = np.arange(2000) % 3
    assert in_order(labels, u).tolist() == np.lexsort((u, labels)).tolist()
