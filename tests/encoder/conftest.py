import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def graphs():
    from small_graphs import random_graph

    return [random_graph(seed) for seed in range(12)]
