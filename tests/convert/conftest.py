import pytest
from recorded_traces import unpacked


@pytest.fixture(scope="session")
def vectormultadd(tmp_path_factory):
    """Folder with the traces of MacSim's own example, by size; unpacked once."""
    folder = unpacked("macsim_traces/vectormultadd", tmp_path_factory.mktemp("vectormultadd"), without="/65536")
    return {path.parent.name: path.parent for path in folder.rglob("kernel_config.txt")}
