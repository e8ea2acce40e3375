"""Small lists of traces on disk."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lists import Lists


@pytest.fixture
def lists(tmp_path):
    return Lists(tmp_path)
