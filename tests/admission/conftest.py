"""The public reports as small inputs, where the shared data is beside the checkout."""

import pytest
from recorded_traces import shared, unpacked


@pytest.fixture(scope="session")
def shared_cases():
    """The folder of shared cases."""
    return shared("cases")


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """The folder of reports, unpacked once."""
    return unpacked("cases/give", tmp_path_factory.mktemp("cases")) / "give"
