"""Small lists of traces on disk."""

import pytest
from lists import Lists


@pytest.fixture
def lists(tmp_path):
    return Lists(tmp_path)
