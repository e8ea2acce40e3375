"""The built host, run on hand-written traces."""

import pytest
from bench import Bench

from kernelpoint.cli.host import program


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path, program())
