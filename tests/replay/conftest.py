"""Small lists of traces on disk."""

from __future__ import annotations

import pytest
from lists import Lists


@pytest.fixture
def lists(tmp_path):
    return Lists(tmp_path)
