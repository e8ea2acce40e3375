"""Packs: the same run from the pack alone, and packs that are damaged."""

import json
import os
import shutil
import subprocess

import pytest
import yaml
from command_line import run_command
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.cli.host import program
from kernelpoint.errors import ConfigError, PlanError
from kernelpoint.journal import load_run
from kernelpoint.journal.records import plain
from kernelpoint.packs.pack import write_pack
from kernelpoint.packs.unpack import unpack


def test_a_run_from_the_pack_alone_is_the_same_run(packed, tmp_path):
    run, pack, _ = packed
    listed = unpack(pack, tmp_path / "sample")
    keys = yaml.safe_load((tmp_path / "sample" / "kernelpoint.yaml").read_text())
    again = kp.simulate(listed, tmp_path / "run.kpjournal", **{k: v for k, v in keys.items() if k != "version"})
    assert [plain(r) for r in again.results.values()] == [plain(r) for r in run.results.values()]
    assert plain(again.ended()) == plain(run.ended())


def test_a_pack_is_smaller_than_the_traces(packed):
    _, pack, size = packed
    assert pack.stat().st_size < size / 4


@pytest.mark.parametrize("place", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_flipped_bit_is_refused(packed, tmp_path, place):
    content = bytearray(packed[1].read_bytes())
    content[int(place * len(content))] ^= 4
    (tmp_path / "bad.kppack").write_bytes(content)
    with pytest.raises(PlanError, match=r"its checksum is wrong|does not end with a checksum"):
        unpack(tmp_path / "bad.kppack", tmp_path / "sample")
    assert not (tmp_path / "sample").exists()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b'{"type":"run"}'])
def test_a_file_that_is_no_pack_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "bad.kppack").write_bytes(content)
    done = run_command("file", "pack", "bad.kppack", "-o", "sample", cwd=tmp_path)
    assert done.returncode != 0
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_folder_that_holds_something_is_left_alone(packed, tmp_path):
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(PlanError, match="is not empty"):
        unpack(packed[1], tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


def test_a_run_whose_traces_are_gone_cannot_be_packed(packed, tmp_path):
    with pytest.raises(ConfigError, match=r"list .* is not there \(relative paths begin at /"):
        write_pack(packed[0], tmp_path / "again.kppack")


def test_a_run_is_packed_in_its_own_folder_and_the_refusal_says_so(tmp_path):
    (tmp_path / "run").mkdir()
    synthesised(tmp_path / "run" / "traces", "iterative-solver", 30, rows=256)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "run")
        kp.simulate("traces/kernelslist.g", "run.kpjournal", fast_model="rtx", error_budget={"relative_error": 0.05})
    done = run_command("file", "pack", "run/run.kpjournal", "-o", "sample.kppack", cwd=tmp_path)
    assert done.returncode == 1 and f"traces/kernelslist.g, is not there (relative paths begin at {tmp_path})" in done.stderr
    assert run_command("file", "pack", "run.kpjournal", "-o", "sample.kppack", cwd=tmp_path / "run").returncode == 0


def host_run(folder, pack):
    """A run of the embedded host from a pack alone, in a folder of its own, where no command can be started."""
    folder.mkdir(exist_ok=True)
    command = [program(), "-config", "v100", "-kernel_sampling", pack]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": "/nowhere"})


def test_a_pack_is_a_sampling_configuration_by_itself(packed, tmp_path):
    run, pack, _ = packed
    shutil.copy(pack, tmp_path / "sample.kppack")
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "mine").touch()  # a folder of the pack's stem is the user's
    for _ in range(2):  # the second time the folder is there
        done = host_run(tmp_path / "other", tmp_path / "sample.kppack")
        assert done.returncode == 0, done.stderr
        again = load_run(tmp_path / "other" / "run.kpjournal")
        assert plain(again.ended()) == plain(run.ended())
        again.path.unlink()


def test_a_simulator_refuses_a_pack_with_a_flipped_bit(packed, tmp_path):
    content = bytearray(packed[1].read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "bad.kppack").write_bytes(content)
    done = host_run(tmp_path / "other", tmp_path / "bad.kppack")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "its checksum is wrong" in done.stderr


def test_inspect_shows_what_a_pack_holds(packed):
    run, pack, _size = packed
    shown = json.loads(run_command("file", "inspect", pack, "--json").stdout)
    assert shown["estimate"] == run.ended().estimate
    assert 0 < shown["whole"] < shown["traces"]
    assert shown["bytes"] == pack.stat().st_size
    assert "footprints  " in run_command("file", "inspect", pack).stdout


def test_a_folder_of_another_pack_is_no_folder_of_this_one(packed, tmp_path):
    unpack(packed[1], tmp_path / "sample")
    assert unpack(packed[1], tmp_path / "sample").is_file()
    (tmp_path / "sample" / "pack.seal").write_bytes(b"0" * 64)
    with pytest.raises(PlanError, match="is not empty"):
        unpack(packed[1], tmp_path / "sample")
