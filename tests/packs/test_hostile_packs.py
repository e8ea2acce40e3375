"""Packs of strangers, each under a seal that is right: what they may say, where they may write, what they may cost."""

import hashlib
import shutil
import stat
import struct
import subprocess
import sys
import zipfile

import pytest
import yaml
from command_line import run_command

import kernelpoint as kp
from kernelpoint.errors import KernelPointError, PlanError
from kernelpoint.packs.contents import LIST, PLAN, TRACES
from kernelpoint.packs.unpack import about_pack, unpack
from kernelpoint.traces import read_trace_list
from kernelpoint.traces.replay import kept_footprints


def refusal(pack, folder):
    """Message of a pack that is refused in one line; nothing is left behind."""
    before = sorted(folder.parent.rglob("*"))
    done = run_command("file", "pack", pack, "-o", folder)
    assert done.returncode == 1 and len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert sorted(folder.parent.rglob("*")) == before
    return done.stderr


# ---- keys ---------------------------------------------------------------------------------------------------------------

FILES = {
    "journal": "../.bash_profile",
    "resume": "never",
    "results_from": "../run.kpjournal",
    "plan": "../other.kpplan",
    "selection": "../drawn.kpselect",
    "profile": "../times.csv",
    "encoder": {"checkpoint": "../weights.safetensors"},
    "clusters": "online",
    "fast_model": "../gpgpusim.config",
    "ranges": "../layers.csv",
    "x": 1,
}


@pytest.mark.parametrize("key", FILES)
def test_a_pack_has_no_key_that_names_a_file_or_sets_one_aside(forged, tmp_path, key):
    pack = forged(lambda about: {**about, "config": {**about["config"], key: FILES[key]}})
    assert f"the configuration in it has {'the key ' if key not in ('fast_model', 'ranges') else ''}" in refusal(
        pack, tmp_path / "sample"
    )


def test_the_journal_of_an_unpacked_run_is_the_one_of_the_working_directory(packed, tmp_path):
    unpack(packed[1], tmp_path / "sample")
    keys = yaml.safe_load((tmp_path / "sample" / "kernelpoint.yaml").read_text())
    assert keys.keys() <= {"version", "policy", "error_budget", "fast_model", "plan"}
    assert keys["plan"] == str(tmp_path / "sample" / "sample.kpplan")


def test_a_journal_in_another_folder_is_not_packed(packed, tmp_path):
    run, pack, _ = packed
    assert run.header.config["journal"] != "run.kpjournal"
    assert "journal" not in about_pack(pack).config


@pytest.mark.parametrize(
    "value",
    [{"relative_error": "&a 1"}, {"relative_error": 1e999}, {"relative_error": 10**400}, [[[]]], "x" * 10_000, None],
    ids=lambda value: str(value)[:20],
)
def test_a_value_that_is_no_error_budget_is_refused(forged, tmp_path, value):
    refusal(forged(lambda about: {**about, "config": {**about["config"], "error_budget": value}}), tmp_path / "sample")


# ---- names --------------------------------------------------------------------------------------------------------------

NAMES = [
    "../out.traceg", "/tmp/out.traceg", "", ".", "./a", "a//b", "a/", "a/./b", "a/../b", "-o", "kernel 1.traceg",
    "kernel-1;touch X;.traceg.xz", "kernel-$(id).traceg", "kernel-1\n.traceg", "kernel-1\0.traceg", "k\u00e4rnel", "~root",
    "kernelpoint.yaml", "KernelPoint.yaml", "sample.kpplan", "pack.seal", "footprints.kpfootprints", "kernelslist.g",
    "kernelslist.g/x", "kernelpoint.yaml/x", "x" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name)[:30])
def test_a_trace_has_a_plain_relative_name_of_its_own(forged, tmp_path, name):
    def change(about):
        about["files"][0]["name"] = name
        return about

    assert not any(word in refusal(forged(change), tmp_path / "sample") for word in ("Errno", "surrogate"))


@pytest.mark.parametrize("name", ["", "../kernelslist.g", "/etc/passwd", "part/kernelslist.g", "a;b.g", "kernelpoint.yaml"])
def test_a_list_has_a_plain_name(forged, tmp_path, name):
    refusal(forged(lambda about: {**about, "list": name}), tmp_path / "sample")


def test_two_names_of_one_file_are_refused(forged, tmp_path):
    def change(about):
        first, second = about["files"][:2]
        first["name"], second["name"] = "Kernel-1.traceg", "kernel-1.traceg"
        return about

    assert "would overwrite" in refusal(forged(change), tmp_path / "sample")


def test_the_name_of_a_pack_makes_no_folder_that_a_shell_would_run(packed, tmp_path):
    shutil.copy(packed[1], tmp_path / "sample;touch X;.kppack")
    done = run_command("file", "pack", "sample;touch X;.kppack", cwd=tmp_path)
    assert done.returncode == 1 and "it contains ';'" in done.stderr and len(list(tmp_path.iterdir())) == 1
    assert run_command("file", "pack", "sample;touch X;.kppack", "-o", "my sample", cwd=tmp_path).returncode == 0


# ---- other runs ---------------------------------------------------------------------------------------------------------


def test_footprints_of_a_pack_stay_beside_it(packed, forged, tmp_path, monkeypatch):
    """A pack of another's footprints changes neither the cache nor another run."""
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    listed = unpack(packed[1], tmp_path / "sample")
    assert not (tmp_path / "cache").exists()
    assert list(kept_footprints(list(dict.fromkeys(read_trace_list(str(listed)).traces)))) == []
    assert (tmp_path / "sample" / "footprints.kpfootprints").stat().st_size > 100


@pytest.mark.parametrize("name", ["/absolute/kernel-1.traceg", "../other/kernel-1.traceg", "kernel-0.traceg"])
def test_a_footprint_is_of_a_trace_that_the_pack_does_not_have_whole(forged, tmp_path, name):
    def change(about):
        about["footprints"][0]["trace"] = name
        return about

    assert "memory addresses of the trace" in refusal(forged(change), tmp_path / "sample")


@pytest.mark.parametrize("damage", [b"", b"kernelpoint footprints 1\n[[", b"kernelpoint footprints 1\n[[1,2,3]]\n", None])
def test_damaged_footprints_beside_a_list_are_refused_in_one_line(packed, tmp_path, damage):
    listed = unpack(packed[1], tmp_path / "sample")
    place = tmp_path / "sample" / "footprints.kpfootprints"
    place.write_bytes(place.read_bytes()[:-5] if damage is None else damage)
    with pytest.raises(KernelPointError, match="footprints"):
        kp.simulate(listed, tmp_path / "run.kpjournal", **settings_of(tmp_path / "sample"))


def settings_of(folder):
    return {key: value for key, value in yaml.safe_load((folder / "kernelpoint.yaml").read_text()).items() if key != "version"}


@pytest.mark.parametrize("name", ["kernelpoint.yaml", "sample.kpplan", "kernelslist.g"])
def test_a_folder_whose_files_were_changed_is_not_taken_for_the_packs(packed, tmp_path, name):
    """A stranger may send a pack together with a folder that claims to be its own."""
    unpack(packed[1], tmp_path / "sample")
    with (tmp_path / "sample" / name).open("a") as file:
        file.write("journal: /tmp/else\n")
    with pytest.raises(PlanError, match="is not empty"):
        unpack(packed[1], tmp_path / "sample")


def test_a_link_in_the_place_of_the_folder_is_not_followed(packed, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sample").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PlanError, match="or is a link"):
        unpack(packed[1], tmp_path / "sample")
    assert list((tmp_path / "elsewhere").iterdir()) == []


# ---- members ------------------------------------------------------------------------------------------------------------


def test_a_member_that_stands_there_twice_is_refused(forged, tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        pack = forged(members=lambda members: [*members.items(), (LIST, b"kernel-1.traceg\n")])
    assert "occurs twice" in refusal(pack, tmp_path / "sample")


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFDIR, stat.S_IFSOCK])
def test_a_member_that_is_no_file_is_refused(forged, tmp_path, mode):
    def change(entry):
        if entry.filename == LIST:
            entry.external_attr = (mode | 0o777) << 16

    assert "expected a plain file" in refusal(forged(entries=change), tmp_path / "sample")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_member_that_is_packed_in_another_way_is_refused(forged, tmp_path, method):
    def change(entry):
        entry.compress_type = method

    assert "is not compressed with LZMA" in refusal(forged(entries=change), tmp_path / "sample")


def test_members_that_the_description_does_not_tell_of_are_refused(forged, tmp_path):
    for change in (
        lambda members: {**members, "../../x": b""},
        lambda members: {**members, TRACES + "more.traceg": b""},
        lambda members: {name: data for name, data in members.items() if name != PLAN},
    ):
        assert "its description and its contents disagree about the part" in refusal(
            forged(members=change), tmp_path / "sample"
        )


def test_a_pack_of_another_version_is_refused(forged, tmp_path):
    assert "format version 9, this KernelPoint reads 2" in refusal(
        forged(lambda about: {**about, "version": 9}), tmp_path / "s"
    )


# ---- sizes --------------------------------------------------------------------------------------------------------------

NUMBERS = [-1, 2**36 + 1, 2**63, 10**400, 1.5, "1", None, True]


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: str(value)[:20])
@pytest.mark.parametrize("key", ["size", "time"])
def test_a_number_that_no_file_has_is_refused(forged, tmp_path, key, value):
    def change(about):
        about["files"][0][key] = value
        return about

    if (key, value) != ("time", 2**36 + 1):
        refusal(forged(change), tmp_path / "sample")


def patched(pack, change):
    """A pack whose bytes were changed, sealed again."""
    data = bytearray(pack.read_bytes())
    change(data)
    pack.write_bytes(data)
    with pack.open("r+b") as file:
        file.seek(0)
        digits = hashlib.blake2b(bytes(data[:-64]), digest_size=32).hexdigest().encode()
        file.seek(len(data) - 64)
        file.write(digits)
    return pack


def directory_of(data):
    """Offsets of the entries in the zip directory."""
    at = struct.unpack("<L", data[-84 - 22 + 16 : -84 - 22 + 20])[0]
    while data[at : at + 4] == b"PK\x01\x02":
        yield at
        at += 46 + sum(struct.unpack("<3H", data[at + 28 : at + 34]))


@pytest.mark.parametrize("size", [0, 1, 2**31, 2**32 - 2])
def test_sizes_that_lie_are_refused(forged, tmp_path, size):
    def change(data):
        for at in directory_of(data):
            data[at + 24 : at + 28] = struct.pack("<L", size)

    refusal(patched(forged(), change), tmp_path / "sample")


def test_a_dictionary_of_4_gib_is_refused(forged, tmp_path):
    def change(data):
        for at in directory_of(data):
            header = struct.unpack("<L", data[at + 42 : at + 46])[0]
            begin = header + 30 + sum(struct.unpack("<2H", data[header + 26 : header + 30]))
            data[begin + 5 : begin + 9] = b"\xff\xff\xff\xff"

    assert "needs 4,294,967,295 bytes of memory" in refusal(patched(forged(), change), tmp_path / "sample")


def bomb(forged, megabytes):
    """A small pack with a whole trace of so many megabytes of zeros."""
    size = megabytes << 20

    def about(about):
        trace = next(file for file in about["files"] if file["whole"])
        trace["size"] = size
        about["marked"] = trace["name"]
        return about

    name = []

    def take(fields):
        fields = about(fields)
        name.append(fields.pop("marked"))
        return fields

    return forged(take, lambda members: {**members, TRACES + name[0]: bytes(size)})


def test_a_bomb_is_refused_with_its_size_unless_it_is_asked_for(forged, tmp_path, monkeypatch):
    pack = bomb(forged, 8)
    monkeypatch.setattr("kernelpoint.packs.unpack.FREE_BYTES", 1 << 20)
    assert "with --most" in refusal(pack, tmp_path / "sample")
    assert run_command("file", "pack", pack, "-o", tmp_path / "sample", "--most", "0.01").returncode == 0


def test_a_pack_is_read_as_a_stream(forged, tmp_path):
    pack = bomb(forged, 48)
    code = (
        "import resource, sys; from pathlib import Path; from kernelpoint.packs.unpack import unpack, about_pack\n"
        "about_pack(Path(sys.argv[1])); before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "unpack(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, pack, tmp_path / "sample"], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 36_000, "KB beyond what the imports take"


def test_a_description_without_end_is_not_read(forged, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelpoint.packs.unpack.MOST_ABOUT", 1000)
    pack = forged()
    assert "part 'about.json' has" in refusal(pack, tmp_path / "sample")
    done = run_command("file", "inspect", pack)
    assert done.returncode == 1 and "allowed: at most 1,000" in done.stderr


def test_a_list_of_millions_of_launches_is_refused_unless_it_is_asked_for(forged, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelpoint.packs.unpack.FREE_LIST", 1 << 20)
    pack = forged(members=lambda members: {**members, LIST: b"kernel-1.traceg\n" * (1 << 17)})
    assert "list in the pack has 2,097,152 bytes; allowed: 1,048,576" in refusal(pack, tmp_path / "sample")
    assert run_command("file", "pack", pack, "-o", tmp_path / "sample", "--most", "1").returncode == 0


@pytest.mark.parametrize("value", ["[]", '{"a": 0}', "0", '"x"'])
def test_a_small_pack_has_no_large_description(forged, tmp_path, value):
    """Lists of lists take 35 bytes of memory for each of the text, which the pack holds a thousand times smaller."""
    pack = forged(lambda about: {**about, "config": {**about["config"], "policy": yaml.safe_load(f"[{value}]") * (1 << 20)}})
    assert "part 'about.json' has" in refusal(pack, tmp_path / "sample")


def test_a_directory_of_many_members_is_not_read(packed, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelpoint.archive.MOST_MEMBERS", 3)
    assert "members in" in refusal(packed[1], tmp_path / "sample")
