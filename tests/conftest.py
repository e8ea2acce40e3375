"""Fixtures of every folder: the scripted plugin, which stands in for the real one in the tests of hosts."""

import gc
import os
import signal
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

# Tests run in a process for each core: threads of numpy and scikit-learn would only wait for each other. Read at their import.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from caches import new_cache
from hypothesis import settings
from installed import install

# A runner in the background ignores Ctrl-C, and so would the programs that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No test is timed: an example may take long on a busy machine.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")

# Programs, not tests: they import much, which every process of the suite would pay for.
collect_ignore = ["setup"]

HERE = Path(__file__).parent
# Files that take longest, longest first: begun first, so that at the end no process is alone with one of them.
LONGEST = [
    "fuzz/test_targets.py",
    "hosts/test_conformance.py",
    "accelsim_patch/test_hook.py",
    "coordinator/test_runs.py",
    "documents/test_readme.py",
    "documents/test_tutorials.py",
    "planning/test_forecast.py",
    "damage/test_any_bytes.py",
    "documents/test_extending.py",
    "damage/test_failing_io.py",
    "estimation/test_constants.py",
    "accelsim_patch/test_replay.py",
    "coordinator/test_namespaces.py",
    "estimation/test_assisted.py",
    "estimation/test_troubles.py",
    "integration/test_without_torch.py",
    "integration/test_embedded_host.py",
    "packs/test_hostile_packs.py",
    "documents/test_mistakes.py",
    "api/test_notebooks.py",
    "estimation/test_several_targets.py",
    "macsim_patch/test_hook.py",
]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Read all tests with the garbage collector off. Modules and tests live until the process ends, so later garbage
    collections skip them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first; the rest stays in its order."""
    place = {HERE / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(LONGEST)))


@pytest.fixture(scope="session", autouse=True)
def temporary_files(tmp_path_factory) -> Iterator[None]:
    """Temporary files and the cache of tests, and of the programs that they start: below pytest's own folder."""
    folder = str(tmp_path_factory.mktemp("temporary"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELPOINT_CACHE", new_cache(Path(folder) / "cache"))
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(scope="session")
def scripted_plugin(tmp_path_factory) -> Path:
    """The plugin with a session whose decisions stand in a script: see tests/hosts/scripted_boundary.py."""
    return install(tmp_path_factory.mktemp("plugin"), HERE / "hosts" / "scripted_boundary.py")
