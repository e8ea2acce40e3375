"""A run, its pack, and packs that a stranger forged of it."""

import json
import shutil
import zipfile

import pytest
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.archive import seal
from kernelpoint.packs.contents import ABOUT
from kernelpoint.packs.pack import write_pack


@pytest.fixture(scope="session")
def packed(tmp_path_factory):
    """A sampled run of the embedded host, its pack, and nothing else: traces and cache are gone."""
    home = tmp_path_factory.mktemp("home")
    traces = synthesised(home / "traces", "iterative-solver", 300, rows=64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELPOINT_CACHE", str(home / "cache"))
        run = kp.simulate(
            traces,
            home / "run.kpjournal",
            fast_model="rtx",
            error_budget={"relative_error": 0.05},
        )
        assert run.ended().skipped > 100
        assert run.ended().half_width
        write_pack(run, home / "sample.kppack")
    size = sum(file.stat().st_size for file in (home / "traces").iterdir())
    shutil.rmtree(home / "traces")
    shutil.rmtree(home / "cache")
    return run, home / "sample.kppack", size


@pytest.fixture
def forged(packed, tmp_path):
    """Function that forges the pack under a seal that is right: other description, members and entries; its path."""

    def forge(about=lambda about: about, members=lambda members: members, entries=lambda entry: None):
        with zipfile.ZipFile(packed[1]) as old:
            content = {entry.filename: old.read(entry) for entry in old.infolist()}
        content[ABOUT] = json.dumps(about(json.loads(content[ABOUT]))).encode()
        path = tmp_path / "forged.kppack"
        with path.open("w+b") as file:
            with zipfile.ZipFile(file, "w") as new:
                made = members(content)
                for name, data in made.items() if isinstance(made, dict) else made:
                    entry = zipfile.ZipInfo(name)
                    entry.compress_type = zipfile.ZIP_LZMA
                    entries(entry)
                    new.writestr(entry, data)
            seal(file)
        return path

    return forge
