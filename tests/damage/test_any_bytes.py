"""Python's readers on valid files whose bytes or values were changed, with right checksums: the reader behind is reached.

Each reader gives what it promises, or refuses with an error of its own: EXAMPLES inputs for each (60 in the suite).

EXAMPLES=2000 python -m pytest tests/damage/test_any_bytes.py
"""

import contextlib
import csv
import gzip
import hashlib
import json
import lzma
import os
import shutil
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiler_files import Kernel, write_kineto_json, write_nsys_sqlite, write_nsys_tables
from samples import CENSUS, KEY, KIND, MACSIM_CENSUS, PROFILES, parts, plain, sealed
from sealed_lines import journal_of
from workloads import synthesised

import kernelpoint as kp
from kernelpoint.archive import archived, from_archived, read_archive, seal, write_archive
from kernelpoint.config import load_config, parse_config
from kernelpoint.config.reference import commented_yaml
from kernelpoint.config.schema import Config
from kernelpoint.coordinator.batch_systems import read_cluster_file
from kernelpoint.coordinator.sweep import sweep_configs
from kernelpoint.encoder.checkpoint import BUILTIN, UNSEALED, checkpoint_path, read_checkpoint, read_tensors
from kernelpoint.encoder.checkpoint import checksum as checkpoint_checksum
from kernelpoint.errors import ConfigError, JournalError, KernelPointError, PlanError, ProfileError
from kernelpoint.file_names import BESIDE
from kernelpoint.journal import load_run
from kernelpoint.packs.pack import write_pack
from kernelpoint.packs.unpack import unpack
from kernelpoint.planning.plan import Plan
from kernelpoint.profiles import read_profile
from kernelpoint.program import Program
from kernelpoint.ranges import read_ranges
from kernelpoint.selection import Selection, draw, read_census
from kernelpoint.traces import ArtefactCache
from kernelpoint.traces.cache import checksum
from kernelpoint.traces.replay import FootprintsBeside, write_beside

EXAMPLES = settings(max_examples=int(os.environ.get("EXAMPLES", "60")), deadline=None)
WORDS = ("", "0", "-1", "1e999", "NaN", "null", "true", "[]", "{}", '""', '"', ",", "\n", "\0", 25 * "9", 2000 * "[")
TOKENS = st.sampled_from([b"\xff", *(word.encode() for word in WORDS)]) | st.binary(min_size=1, max_size=4)
# Edits: place (share of the length), number of bytes removed, bytes inserted.
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9), TOKENS), min_size=1, max_size=4)


VALUE = np.arange(4.0).tobytes()


def edited(content: bytes, edits) -> bytes:
    for place, gone, token in edits:
        at = int(place * len(content))
        content = content[:at] + token + content[at + gone :]
    return content


def is_read_or_refused(read) -> None:
    try:
        read()
    except KernelPointError as error:
        assert plain(error) and "\n" not in str(error), error


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("any")


def members(path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def archives(folder):
    """A plan and a selection: their readers, and the members of their files."""
    write_archive(folder / "plan", *parts())
    (folder / "stats_ctx_0x5d0").write_text(CENSUS)
    census = read_census(folder / "stats_ctx_0x5d0", None, print)
    (folder / "k.yaml").write_text("version: 1\npolicy: kernelpoint\n")
    draw(census, load_config(folder / "k.yaml"), 2.0, print)[0].save(folder / "selection")
    readers = {
        "plan": lambda path: Plan.load(path, Program((5,))),
        "selection": Selection.load,
        "archive": read_archive,
    }
    return {name: (readers[name], members(folder / file)) for name, file in
            (("plan", "plan"), ("selection", "selection"), ("archive", "plan"))}  # fmt: skip


@EXAMPLES
@given(data=st.data(), kind=st.sampled_from(["plan", "selection", "archive"]), edits=EDITS)
def test_any_bytes_of_a_sealed_archive_are_read_or_refused(folder, archives, data, kind, edits):
    read, content = archives[kind]
    name = data.draw(st.sampled_from(sorted(content)))
    path = folder / "any.npz"
    sealed(path, {**content, name: edited(content[name], edits)})
    is_read_or_refused(lambda: read(path))


@EXAMPLES
@given(kind=st.sampled_from(["plan", "selection", "archive"]), edits=EDITS)
def test_any_bytes_of_an_archive_under_a_wrong_checksum_are_refused(folder, archives, kind, edits):
    read, content = archives[kind]
    path = folder / "any.npz"
    sealed(path, content)
    whole = path.read_bytes()
    path.write_bytes(edited(whole, edits))
    if path.read_bytes() != whole:
        with pytest.raises(PlanError, match=r"checksum is wrong|does not end with a checksum|got another kind of file"):
            read(path)


@EXAMPLES
@given(data=st.data(), edits=EDITS)
def test_any_bytes_of_a_journals_record_are_read_or_refused(folder, journal_records, data, edits):
    lines = [json.dumps(record, separators=(",", ":")).encode() for record in journal_records]
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = edited(lines[at], edits)
    path = folder / "any.kpjournal"
    path.write_bytes(journal_of(lines))
    is_read_or_refused(lambda: load_run(path).content())


SCALARS = st.none() | st.booleans() | st.integers() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from([*Config.__match_args__, "error_budget.relative_error", "replay.validation", "x.y", "<<"])


@EXAMPLES
@given(data=st.data())
def test_any_values_of_a_journals_record_are_read_or_refused(folder, journal_records, data):
    records = [dict(record) for record in journal_records]
    for _ in range(data.draw(st.integers(1, 3))):
        record = records[data.draw(st.integers(0, len(records) - 1))]
        key = data.draw(st.sampled_from([*record, "more"]))
        change = data.draw(st.sampled_from(["value", "gone", "doubled"]))
        if change == "value":
            record[key] = data.draw(JSON)
        elif change == "gone":
            record.pop(key, None)
        else:
            records.append(dict(record))
    path = folder / "any.kpjournal"
    path.write_bytes(journal_of([json.dumps(record, separators=(",", ":")).encode() for record in records]))
    is_read_or_refused(lambda: load_run(path).content())


def test_a_summary_of_a_counter_that_the_run_does_not_have_is_refused_with_its_line(tmp_path, journal_records):
    *before, summary = journal_records
    (path := tmp_path / "run.kpjournal").write_bytes(
        journal_of(json.dumps(record, separators=(",", ":")).encode() for record in [*before, {**summary, "counter": "flits"}])
    )
    with pytest.raises(
        JournalError,
        match=rf"run\.kpjournal:{len(journal_records)}: the journal is damaged: its summary is of counter 'flits', which no",
    ):
        load_run(path)


def sqlite_profile(path):
    columns = "start, end, shortName, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, streamId"
    rows = [(9 * i, 9 * i + 5, 1, 1, 1, 1, 32, 1, 1, 16, 7) for i in range(5)]
    return write_nsys_tables(path, columns, rows, [(1, "k")]).read_bytes()


KERNELS = [Kernel(name, (1, 1, 1), (32, 1, 1), 900) for name in ("embed", "gemm", "gemm", "head")]
SHAPES = np.array([(1, 1, 1)] * len(KERNELS))
LAUNCHES = Program.of([kernel.name for kernel in KERNELS], SHAPES, SHAPES * (32, 1, 1))
CLUSTER = "jobqueue:\n  slurm:\n    cores: 4\n    memory: 8GB\n    queue: long\n    walltime: '01:00:00'\n"
# Kind -> how its files are read.
READERS = {
    "profile": read_profile,
    "census": lambda path: read_census(path, None, print),
    "ranges": lambda path: read_ranges(str(path), LAUNCHES, print),
    "configuration": load_config,
    "cluster": lambda path: read_cluster_file(str(path)),
    "sweep": lambda path: sweep_configs(["sim"], [str(path)]),
    "footprints": lambda path: FootprintsBeside(f"{path.parent}/kernelslist.g", "80,32").get(f"{path.parent}/kernel-1.traceg"),
}
PACKED = {"": bytes, ".gz": gzip.compress, ".xz": lambda content: lzma.compress(content, preset=0)}


@pytest.fixture(scope="module")
def files(folder):
    """Valid files of each kind: name and content."""
    write_kineto_json(folder / "ranges.json", KERNELS)
    write_nsys_sqlite(folder / "ranges.sqlite", KERNELS)
    write_beside(folder, [("kernel-1.traceg", "80,32", 6), ("kernel-2.traceg", "80,32", 3)], [b"packed", b"two"])
    texts = {
        "profile": PROFILES,
        "census": {
            "stats_ctx_0x1": "".join(CENSUS.splitlines(True)[:6]),
            "kernel_names.txt": "".join(MACSIM_CENSUS.format(i, i % 4) for i in range(6)),
        },
        "ranges": {"layers.csv": "launch,path\n0,model\n1,model/layer.0\n2,model/layer.1\n3,head\n"},
        "configuration": {"any.yaml": commented_yaml(expert=True)},
        "cluster": {"any.yaml": CLUSTER},
        "sweep": {"any.yaml": "sms: [40, 80]\nl2_kib: {from: 512, to: 4096, steps: 3}\n"},
    }
    files = {kind: {name: text.encode() for name, text in of_kind.items()} for kind, of_kind in texts.items()}
    files["profile"]["nsys.sqlite"] = sqlite_profile(folder / "nsys.sqlite")
    files["ranges"] |= {name: (folder / name).read_bytes() for name in ("ranges.json", "ranges.sqlite")}
    return files | {"footprints": {BESIDE: (folder / BESIDE).read_bytes()}}


@pytest.mark.parametrize("kind", READERS)
@EXAMPLES
@given(data=st.data(), edits=EDITS)
def test_any_bytes_of_a_file_are_read_or_refused(folder, files, kind, data, edits):
    name = data.draw(st.sampled_from(sorted(files[kind])))
    packed = data.draw(st.sampled_from(sorted(PACKED))) if kind == "profile" else ""
    (folder / kind).mkdir(exist_ok=True)
    path = folder / kind / f"{name}{packed}"
    path.write_bytes(PACKED[packed](edited(files[kind][name], edits)))
    try:
        READERS[kind](path)
    except KernelPointError as error:  # of several lines, where several keys of a configuration are wrong
        assert plain(error) and ("\n" not in str(error) or kind == "configuration"), error


@pytest.mark.parametrize("value", ["1e999", "nan", "-inf", "9" * 200_000])
@pytest.mark.parametrize("name", ["nsys.csv", "ncu.csv", "results.csv"])
def test_a_number_that_is_none_is_refused_wherever_it_stands(tmp_path, name, value):
    head, _, row = PROFILES[name].rstrip("\n").partition("\n")
    fields = next(csv.reader([row]))
    refused = 0
    for place in range(len(fields)):
        changed = [value if i == place else field for i, field in enumerate(fields)]
        with (tmp_path / name).open("w", newline="") as file:
            file.write(head + "\n")
            csv.writer(file).writerow(changed)
        try:
            read_profile(tmp_path / name)
        except ProfileError as error:
            assert plain(error)
            refused += 1
    assert refused > 0


ODD = ["'text'", "x'ff'", "1.5", "9223372036854775807", "-9223372036854775808", "NULL", "'1'"]


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("column", ["start", "end", "shortName", "gridX", "streamId"])
def test_rows_of_any_type_in_an_export_of_nsight_systems(tmp_path, column, value):
    path = tmp_path / "odd.sqlite"
    sqlite_profile(path)
    with sqlite3.connect(path) as file:
        file.execute(f'UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET "{column}" = {value}')
    file.close()
    is_read_or_refused(lambda: read_profile(path))


def test_a_view_that_does_not_end_is_no_export_of_nsight_systems(tmp_path):
    path = tmp_path / "endless?#%41.sqlite"
    sqlite_profile(path)
    assert read_profile(path).size == 5, "any name of a file is a name"
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
    with sqlite3.connect(path) as file:
        file.execute("DROP TABLE StringIds")
        file.execute(f"CREATE VIEW StringIds AS {endless} 1 AS id, i AS value FROM n WHERE i < 0")
        file.execute("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
        columns = 'i AS "start", i AS "end", i AS shortName'
        file.execute(f"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS {endless} {columns} FROM n WHERE i < 0")
    file.close()
    with pytest.raises(KernelPointError, match="no table CUPTI_ACTIVITY_KIND_KERNEL"):
        read_profile(path)


@EXAMPLES
@given(content=st.dictionaries(KEYS, JSON, max_size=4))
def test_any_values_of_a_configuration_are_read_or_refused(content):
    try:
        assert isinstance(parse_config({"version": 1, "policy": "random", **content}), Config)
    except ConfigError as error:  # of several lines, where several keys are wrong
        assert plain(error)


@EXAMPLES
@given(where=st.sampled_from(["anywhere", "header"]), right=st.booleans(), edits=EDITS)
def test_any_bytes_of_a_checkpoint_are_read_or_refused(folder, where, right, edits):
    """With a wrong checksum, nothing but the whole file is read."""
    whole = Path(checkpoint_path(BUILTIN)).read_bytes()
    end = 8 + int.from_bytes(whole[:8], "little")
    if where == "header":
        header = edited(whole[8:end], edits)
        content = len(header).to_bytes(8, "little") + header + whole[end:]
    else:
        content = edited(whole, edits)
    if right:
        begin = content.find(b'"checksum":"') + len(b'"checksum":"')
        content = content[:begin] + UNSEALED + content[begin + len(UNSEALED) :]
        content = content[:begin] + checkpoint_checksum(content).encode() + content[begin + len(UNSEALED) :]
    path = folder / "any.safetensors"
    path.write_bytes(content)
    if not right and content != whole:
        with pytest.raises(PlanError):
            read_checkpoint(path)
        return
    is_read_or_refused(lambda: read_tensors(read_checkpoint(path)))


@EXAMPLES
@given(edits=EDITS, right=st.booleans())
def test_any_bytes_of_an_artefact_are_taken_under_their_checksum_alone(tmp_path_factory, edits, right):
    """With a wrong checksum the cache gives nothing but the artefact that was put."""
    place = tmp_path_factory.mktemp("cache")
    said: list[str] = []
    cache = ArtefactCache(place)
    cache.put(KIND, {KEY: VALUE})
    cache.close()
    blob = edited(VALUE, edits)
    with sqlite3.connect(cache.path) as file:
        crc = checksum(f"{KIND} {KEY}", blob if right else VALUE)
        file.execute("UPDATE artefacts SET value = ?, crc32 = ?", (blob, crc))
    file.close()
    cache = ArtefactCache(place, said.append)
    assert cache.get(KIND, [KEY])[0] in ([blob] if right else [None, VALUE])
    cache.close()
    assert len(said) <= 2


@EXAMPLES
@given(edits=EDITS)
def test_any_bytes_of_the_caches_file_give_the_artefact_or_none(tmp_path_factory, edits):
    place = tmp_path_factory.mktemp("cache")
    cache = ArtefactCache(place)
    cache.put(KIND, {KEY: VALUE})
    cache.close()
    cache.path.write_bytes(edited(cache.path.read_bytes(), edits))
    said: list[str] = []
    cache = ArtefactCache(place, said.append)
    assert cache.get(KIND, [KEY])[0] in (None, VALUE)
    cache.close()
    assert len(said) <= 2


@EXAMPLES
@given(edits=EDITS)
def test_any_bytes_of_kept_arrays_are_read_or_refused(edits):
    whole = archived({"failures": {}}, {"cycles": np.arange(9.0)})
    with contextlib.suppress(ValueError):
        from_archived(edited(whole, edits))


# ---- packs ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pack(folder):
    """The pack of a small run."""
    traces = synthesised(folder / "traces", "iterative-solver", 40, rows=64)
    run = kp.simulate(traces, folder / "packed.kpjournal", fast_model="rtx", error_budget={"relative_error": 0.05})
    write_pack(run, folder / "sample.kppack")
    return folder / "sample.kppack"


def unpacked(folder, sealed):
    """Unpack a pack into a new folder; nothing but that folder may appear."""
    place = folder / "packs"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / "any.kppack").write_bytes(sealed)
    is_read_or_refused(lambda: unpack(place / "any.kppack", place / "any"))
    assert {path.name for path in place.iterdir()} <= {"any.kppack", "any"}


@EXAMPLES
@given(edits=EDITS)
def test_any_bytes_of_a_pack_under_a_right_seal_are_read_or_refused(folder, pack, edits):
    whole = bytearray(edited(pack.read_bytes()[:-64], edits))
    unpacked(folder, bytes(whole) + hashlib.blake2b(whole, digest_size=32).hexdigest().encode())


@EXAMPLES
@given(data=st.data())
def test_any_values_of_a_packs_description_are_read_or_refused(folder, pack, data):
    with zipfile.ZipFile(pack) as file:
        members = {entry.filename: file.read(entry) for entry in file.infolist()}
    about = json.loads(members["about.json"])
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.sampled_from([about, about["config"], *about["files"][:2], *about["footprints"][:1]]))
        row[data.draw(st.sampled_from([*row, "journal", "more"]))] = data.draw(JSON)
        about = {"files": [{}], "footprints": [], "config": {}} | about
        lists = [about["files"], about["footprints"]]
        if not isinstance(about["config"], dict) or not all(isinstance(each, list) for each in lists):
            break
        if not all(isinstance(each, dict) for rows in lists for each in rows):
            break
    with (folder / "made.kppack").open("w+b") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as made:
            for name, content in members.items():
                made.writestr(name, json.dumps(about) if name == "about.json" else content)
        seal(file)
    unpacked(folder, (folder / "made.kppack").read_bytes())
