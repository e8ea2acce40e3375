"""Labels are numbered as np.unique numbers them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernelpoint.estimation.numbering import number_labels


@given(st.lists(st.integers(-5, 40)) | st.lists(st.integers(-(2**60), 2**60)))
def test_labels_are_numbered_in_ascending_order_with_the_first_unit_of_each(labels):
    values = np.array(labels, dtype=np.int64)
    _, first, number = np.unique(values, return_index=True, return_inverse=True)
    found = number_labels(values)
    assert found.first.tolist() == first.tolist() and found.number.tolist() == number.tolist()
