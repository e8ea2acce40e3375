"""A scripted C++ host, compiled once, and an installed plugin whose boundary is the test double."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from compiled import program
from installed import install

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "plugin" / "include"
TIMEOUT = 120


@dataclass
class Run:
    """Output of a host, in order, as (word, rest) pairs."""

    code: int
    lines: list[tuple[str, str]]
    stderr: str

    def of(self, word: str) -> list[str]:
        return [rest for first, rest in self.lines if first == word]

    def one(self, word: str) -> str:
        (rest,) = self.of(word)
        return rest


def clean_environment(**changes: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "KERNELPOINT", "VIRTUAL_ENV", "OMP_", "LC_"))}
    return kept | {"ASAN_OPTIONS": "detect_leaks=0"} | changes


def run_steps(host: Path, plugin: Path, config: Path, *steps: str, env: dict[str, str] | None = None) -> Run:
    """Load the plugin and run the steps in one process of their own."""
    command = [str(host), str(plugin), str(config), "load", *steps]
    environment = clean_environment(**(env or {}))
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment)
    lines = [line.partition(" ") for line in done.stdout.splitlines()]
    return Run(done.returncode, [(word, rest.strip()) for word, _, rest in lines], done.stderr)


@pytest.fixture(scope="session")
def scripted_host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program([HERE / "scripted_host.cc"], [], tmp_path_factory.mktemp("host") / "scripted_host", ["-O0", "-g"])


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("installed"), HERE / "boundary_double.py")


@pytest.fixture
def host(scripted_host: Path, plugin: Path, tmp_path: Path):
    """Call as host(*steps, script="", env={...}); `script` is what the double executes as its configuration."""

    def run(*steps: str, script: str = "", plugin: Path = plugin, env: dict[str, str] | None = None) -> Run:
        config = tmp_path / "script.py"
        config.write_text(script)
        return run_steps(scripted_host, plugin, config, *steps, env=env)

    return run


@pytest.fixture(scope="session")
def run_host():
    """Call as run_host(host, plugin, config, *steps), where the fixture `host` does not fit."""
    return run_steps


@pytest.fixture(scope="session")
def install_in():
    """Call as install_in(folder): installs the plugin with the double there and returns the plugin's path."""
    return lambda folder: install(folder, HERE / "boundary_double.py")


@pytest.fixture(scope="session")
def header_folder() -> Path:
    return INCLUDE
