"""The public reports as small inputs, where the shared data is beside the checkout."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def shared_cases():
    """The folder of shared cases."""
    folder = Path(os.environ.get("KERNELPOINT_SHARED_DATA", ROOT.parent / "shared" / "data")) / "cases"
    if not folder.is_dir():
        pytest.skip(f"no shared cases at {folder}")
    return folder


@pytest.fixture(scope="session")
def reports(shared_cases, tmp_path_factory):
    """The folder of reports, unpacked once."""
    folder = tmp_path_factory.mktemp("cases")
    unpacked = subprocess.run(["tar", "--zstd", "-xf", shared_cases / "give.tar.zst", "-C", folder], capture_output=True)
    if unpacked.returncode:
        pytest.skip(f"give.tar.zst cannot be unpacked: {unpacked.stderr.decode()[:200]}")
    return folder / "give"
