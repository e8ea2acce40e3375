import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from gpu import Gpu


@pytest.fixture
def gpu(tmp_path):
    """A GPU with 200 launches."""
    return Gpu(tmp_path)
