import pytest
from recorded_traces import ACCELSIM, unpacked


@pytest.fixture(scope="session")
def real_traces(tmp_path_factory):
    """Function that gives the folder with recorded traces of a name, unpacked once."""
    folders = {}

    def folder_of(name):
        if name not in folders:
            folder = unpacked(f"{ACCELSIM}/{name}", tmp_path_factory.mktemp(name))
            folders[name] = next(folder.rglob("kernel-1.traceg")).parent
        return folders[name]

    return folder_of
