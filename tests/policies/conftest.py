"""The made-up profile of the contract suite, as a fixture."""

import pytest

from kernelpoint.policies.made_up import made_up_profile


@pytest.fixture
def small_profile():
    return made_up_profile
