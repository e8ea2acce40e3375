"""The reader of warp files in MacSim's hook closes each file that it refuses."""

import gzip
import subprocess
from pathlib import Path

import compiled


def test_a_file_that_cannot_be_read_to_its_end_is_closed(tmp_path):
    hook = Path(__file__).parents[2] / "macsim_patch" / "hook"
    include = [f"-I{hook}", f"-I{compiled.PLUGIN / 'include' / 'kernelpoint'}", "-O0"]
    looks = compiled.program([Path(__file__).with_name("warp_files.cc")], [], tmp_path / "looks", include, ["-lz"])
    whole = gzip.compress(bytes(3 * 64), mtime=0)
    contents = [whole, whole[:-4], whole[:12], whole[:-8] + bytes(8), b"", gzip.compress(bytes(70)), bytes(64)]
    for number, content in enumerate(contents):
        (tmp_path / f"trace_{number}.raw").write_bytes(content)
    paths = [tmp_path / f"trace_{number}.raw" for number in range(len(contents))] + [tmp_path, tmp_path / "missing"]
    done = subprocess.run([looks, *paths], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["whole"] + ["refused"] * (len(paths) - 1)
    assert done.returncode == 0, "descriptors are left open"
