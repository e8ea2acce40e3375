"""The made-up profile of the contract suite, as a fixture."""

import pytest

from kernelpoint.policies.conformance import synthetic_profile


@pytest.fixture
def small_profile():
    return synthetic_profile
