"""Each host, built once."""

import shutil

import pytest

from hosts import HOSTS, EmbeddedHost
from kernelpoint.cli.host import program


@pytest.fixture(scope="session", params=HOSTS, ids=lambda host: host.name)
def host(request, tmp_path_factory, scripted_plugin):
    """One host after the other."""
    if request.param is EmbeddedHost:
        return EmbeddedHost(scripted_plugin, program())
    if any(shutil.which(tool) is None for tool in ("gcc", "g++", "make")):
        pytest.skip("gcc, g++ and make are needed to build this host")
    return request.param(scripted_plugin, tmp_path_factory.mktemp("host"))
