"""Files that were made to be read wrongly: their checksums are right, and what they say cannot be."""

import os
import sqlite3
import struct
import tracemalloc
import zipfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import KEY, KIND, parts, sealed
from trace_writer import cta, small_trace

from kernelpoint.archive import read_archive, seal, write_archive
from kernelpoint.errors import PlanError
from kernelpoint.estimation import Design
from kernelpoint.planning.plan import Plan
from kernelpoint.program import Program
from kernelpoint.traces import ArtefactCache, scan_launches
from kernelpoint.traces.cache import APPLICATION, SCHEMA, VERSION, checksum

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


def npy(shape, descr="<f8", data=b""):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


@pytest.mark.parametrize(
    "member",
    [
        npy((1 << 40,)),
        npy((1 << 62, 1 << 62)),
        npy((-1,)),
        npy((2,), "|O", b"x" * 16),
        npy((1,), "<U1000000000"),
        b"\x93NUMPY\x09\x00" + b"x" * 50,
        b"",
        b"\x93NUMPY\x01\x00\xff\xff",
    ],
    ids=["2^40 numbers", "overflow", "negative", "objects", "long text", "version 9", "empty", "cut header"],
)
def test_an_array_is_as_large_as_its_bytes_whatever_its_header_says(tmp_path, member):
    sealed(tmp_path / "a.npz", {"about.npy": npy((2,), "|u1", b"{}"), "values.npy": member})
    tracemalloc.start()
    with pytest.raises(PlanError) as caught:
        read_archive(tmp_path / "a.npz")
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
ODD_ARRAYS = [
    *(np.full(5, value) for value in (0.0, np.nan, 9, -7, 2**63 - 1, "a", True)),
    *(np.zeros(shape) for shape in (0, (5, 2), (2, 0))),
    *(np.array(value) for value in (3, "x", 1e309)),
]
ARRAYS = st.sampled_from(ODD_ARRAYS)


def resealed(path, method=zipfile.ZIP_DEFLATED, members=(("about.npy", b"x"),)):
    """A sealed archive of these members."""
    with path.open("w+b") as file:
        with zipfile.ZipFile(file, "w", method) as made:
            for name, data in members:
                made.writestr(name, data)
        seal(file)
    return path


def test_an_archive_that_expands_without_measure_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelpoint.archive.FREE_BYTES", 16 << 20)
    path = resealed(tmp_path / "bomb.kpplan", members=[("about.npy", npy((40 << 20,), "|u1", bytes(40 << 20)))])
    assert path.stat().st_size < 1 << 17
    tracemalloc.start()
    with pytest.raises(PlanError, match=r"it states 41,943,\d+ bytes of arrays; allowed"):
        read_archive(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_an_archive_that_is_packed_in_another_way_is_not_read(tmp_path, method):
    with pytest.raises(PlanError, match="uses a compression that KernelPoint does not write"):
        read_archive(resealed(tmp_path / "odd.kpplan", method))


def test_an_archive_of_many_members_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelpoint.archive.MOST_MEMBERS", 70)
    path = resealed(tmp_path / "many.kpplan", members=[(f"{i}.npy", b"") for i in range(71)])
    with pytest.raises(PlanError, match="zip directory has 71 members"):
        read_archive(path)


def test_the_plan_that_attacks_change_is_one(tmp_path):
    write_archive(tmp_path / "sound.kpplan", *parts())
    plan = Plan.load(tmp_path / "sound.kpplan", Program((5,)))
    assert [plan.name_of_unit(unit) for unit in range(5)] == ["k", "k", "l", "l", None] and plan.unreadable == {4: "empty"}


def predicted_parts():
    """Content of the file of a plan with predictions."""
    about, arrays = parts()
    kept = {name: array for name, array in arrays.items() if not name.startswith("design_")}
    design = {"design_groups": np.array([0, 0, 1, 1, -1]), "design_assume": np.array("ordinary")}
    return about | {"predictions": ["cycles"]}, kept | design | {"prediction_0_values": np.ones(5)}


@pytest.mark.parametrize("origin", [None, [], "t", {}, {"traces": 3}, {"traces": "t", "fast_model": None}])
def test_a_plan_whose_origin_names_no_traces_is_refused(tmp_path, origin):
    about, arrays = parts()
    write_archive(tmp_path / "odd.kpplan", about | {"origin": origin}, arrays)
    with pytest.raises(PlanError, match=r"\(make it again\): `origin\S* is .*; expected an object with (a )?text"):
        Plan.load(tmp_path / "odd.kpplan", Program((5,)))


@pytest.mark.parametrize("missing", ["launch_content", "contents_records"])
def test_a_plan_of_contents_without_those_of_its_launches_is_refused(tmp_path, missing):
    about, arrays = parts()
    del arrays[missing]
    write_archive(tmp_path / "odd.kpplan", about, arrays)
    with pytest.raises(PlanError, match="it describes the traces, but not which trace each launch has"):
        Plan.load(tmp_path / "odd.kpplan", Program((5,)))


@pytest.mark.parametrize("group", [-9, 5, 2**40])
def test_a_plan_whose_groups_are_numbered_otherwise_is_refused(tmp_path, group):
    about, arrays = predicted_parts()
    write_archive(tmp_path / "p.kpplan", about, arrays)
    assert Plan.load(tmp_path / "p.kpplan", Program((5,))).design.label_count == 2
    arrays["design_groups"][0] = group
    write_archive(tmp_path / "p.kpplan", about, arrays)
    with pytest.raises(PlanError, match=r"`groups` has numbers from .*; allowed: -1 to 4"):
        Plan.load(tmp_path / "p.kpplan", Program((5,)))


@pytest.mark.parametrize("name", ["allowance", "slow_excess"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1, 27.5, 1e300])
def test_a_plan_with_an_allowance_that_cannot_be_is_refused(tmp_path, name, value):
    about, arrays = parts()
    write_archive(tmp_path / "odd.kpplan", about, arrays | {f"design_{name}": np.array(value)})
    with pytest.raises(PlanError, match=rf"`{name}` is \S+; allowed: \S+ to 27"):
        Plan.load(tmp_path / "odd.kpplan", Program((5,)))


@settings(max_examples=int(os.environ.get("EXAMPLES", "80")), deadline=None)
@given(data=st.data())
def test_a_plan_of_whatever_content_is_a_plan_or_refused(tmp_path_factory, data):
    about, arrays = parts()
    for _ in range(data.draw(st.integers(1, 2))):
        if data.draw(st.booleans()):
            about[data.draw(st.sampled_from([*about, "more"]))] = data.draw(JSON)
        else:
            arrays[data.draw(st.sampled_from([*arrays, "design_chosen", "design_u", "prediction_0"]))] = data.draw(ARRAYS)
    path = tmp_path_factory.getbasetemp() / "any.kpplan"
    with mock.patch("os.fsync"):
        write_archive(path, about, arrays)
    try:
        plan = Plan.load(path, Program((5,)))
    except PlanError as error:
        assert "\n" not in str(error) and len(str(error)) < 600 and str(error).count("again") <= 1
        return
    assert isinstance(plan.design, Design) and len(plan.cluster_of_unit()) == 5
    assert [plan.name_of_unit(unit) for unit in range(5)][-1] in (None, "k", "l") or "names" in about


def damaged(tmp_path, *statements, fill=True):
    """Answer of a cache about an artefact, and its log, after statements were run on its file."""
    cache = ArtefactCache(tmp_path)
    if fill:
        cache.put(KIND, {KEY: b"value"})
    cache.close()
    with sqlite3.connect(cache.path) as file:
        for statement in statements:
            file.execute(statement)
    file.close()
    said = []
    cache = ArtefactCache(tmp_path, said.append)
    (value,) = cache.get(KIND, [KEY])
    cache.close()
    return value, said


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE artefacts SET value = 'text'",
        "UPDATE artefacts SET value = NULL",
        "UPDATE artefacts SET value = 17",
        "UPDATE artefacts SET value = x'0102'",
        "UPDATE artefacts SET crc32 = 'text'",
        "UPDATE artefacts SET crc32 = 1e300",
        "UPDATE artefacts SET key = x'ff00'",
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON artefacts BEGIN DELETE FROM artefacts; END",
        "CREATE TABLE more (x)",
        "CREATE INDEX i ON artefacts (value)",
    ],
)
def test_rows_of_other_types_and_things_that_were_not_made_are_not_used(tmp_path, statement):
    value, said = damaged(tmp_path, "PRAGMA ignore_check_constraints = ON", *_loosened(statement))
    assert value is None
    assert len(said) <= 1


def _loosened(statement):
    """NOT NULL stands in the way of what a file may hold in truth; the schema's text is what the reader compares."""
    return ["PRAGMA writable_schema = ON", statement] if "NULL" not in statement else [statement.replace("NULL", "zeroblob(0)")]


def test_a_schema_that_is_no_text_is_damage(tmp_path):
    cache = ArtefactCache(tmp_path)
    cache.close()
    content = cache.path.read_bytes()
    assert b"CREATE TABLE artefacts" in content
    cache.path.write_bytes(content.replace(b"CREATE TABLE artefacts", b"CREATE TABLE \xcertefacts"))
    said = []
    assert ArtefactCache(tmp_path, said.append).get(KIND, [KEY]) == [None]
    assert "is damaged" in said[0] and len(said) == 1


def test_a_query_that_does_not_end_is_interrupted_and_the_file_moved_aside(tmp_path, monkeypatch):
    schema = SCHEMA.replace("CREATE TABLE artefacts", "CREATE TABLE other") + (
        f"; CREATE VIEW artefacts AS {ENDLESS} SELECT '{KIND}' AS kind, i AS key, i AS value, i AS crc32 FROM n"
    )
    monkeypatch.setattr("kernelpoint.traces.cache.SCHEMA", schema)  # a file whose schema is the one that is expected
    monkeypatch.setattr("kernelpoint.traces.cache._Connection.most_steps", 1_000_000)
    monkeypatch.setattr("kernelpoint.traces.cache._FEWEST_STEPS", 1_000_000)
    said = []
    cache = ArtefactCache(tmp_path, said.append)
    assert cache.get(KIND, [KEY]) == [None] and "is damaged" in said[0]


@pytest.mark.parametrize("size", [0, 10, 300])
def test_a_forged_record_of_another_length_is_not_used(tmp_path, size):
    trace = tmp_path / "kernel-1.traceg"
    trace.write_text(small_trace(cta(["0000 ffffffff 0 EXIT 0 0"])))
    cache = ArtefactCache(tmp_path)
    scan_launches([str(trace)], cache)
    cache.close()
    with sqlite3.connect(cache.path) as file:
        for kind, key in file.execute("SELECT kind, key FROM artefacts").fetchall():
            crc = checksum(f"{kind} {key}", bytes(size))
            file.execute("UPDATE artefacts SET value = ?, crc32 = ? WHERE key = ?", (bytes(size), crc, key))
    file.close()
    said = []
    table = scan_launches([str(trace)], ArtefactCache(tmp_path, said.append))
    assert table.instructions.tolist() == [1] and "is damaged" in said[0]


@pytest.mark.parametrize("suffix", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["FIFO", "link"])
def test_a_fifo_or_a_link_in_the_place_of_the_cache_is_not_opened(tmp_path, suffix, kind):
    cache = ArtefactCache(tmp_path)
    cache.close()
    place = Path(f"{cache.path}{suffix}")
    place.unlink(missing_ok=True)
    (tmp_path / "mine").write_text("kept")
    os.mkfifo(place) if kind == "FIFO" else place.symlink_to(tmp_path / "mine")
    said = []
    cache = ArtefactCache(tmp_path, said.append)
    assert cache.get(KIND, [KEY]) == [None]
    cache.put(KIND, {KEY: b"value"})
    assert f"is a {kind}" in said[0] and len(said) == 1 and (tmp_path / "mine").read_text() == "kept"


def others_database(path):
    """A database of a user, whose file a hostile cache points at: its bytes."""
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE photographs (x)")
        file.execute("INSERT INTO photographs VALUES (1)")
    file.close()
    return path.read_bytes()


def given_away(place, target):
    place.write_bytes(target.read_bytes())
    os.chown(place, 12345, -1)


@pytest.mark.parametrize(
    ("put", "of_ours", "reason"),
    [
        (Path.symlink_to, False, "is a link"),
        (Path.symlink_to, True, "is a link"),
        (Path.hardlink_to, False, "is another name of a file elsewhere"),
        (Path.hardlink_to, True, "is another name of a file elsewhere"),
        (given_away, True, "belongs to another user"),
        (lambda place, target: place.write_bytes(target.read_bytes()), False, "is a database of another application"),
    ],
)
def test_a_database_that_is_not_this_users_cache_is_left_as_it_is(tmp_path, put, of_ours, reason):
    if put is given_away and os.geteuid() != 0:
        pytest.skip("only root can make a file of another user")
    target = tmp_path / "photographs.sqlite"
    before = others_database(target)
    if of_ours:
        cache = ArtefactCache(tmp_path / "made")
        cache.close()
        before = cache.path.read_bytes()
        target.write_bytes(before)
    (tmp_path / "cache").mkdir()
    put(tmp_path / "cache" / "artefacts.sqlite", target)
    said = []
    cache = ArtefactCache(tmp_path / "cache", said.append)
    cache.put(KIND, {KEY: b"value"})
    assert cache.get(KIND, [KEY]) == [b"value"], "in memory"
    cache.close()
    assert target.read_bytes() == (tmp_path / "cache" / "artefacts.sqlite").read_bytes() == before
    assert len(said) == 1 and reason in said[0] and "nothing read from now on is remembered" in said[0]


NAMED = "CREATE TABLE folders (x); CREATE TABLE shapes (x); CREATE TABLE launches (x); CREATE TABLE makers (x); "


@pytest.mark.parametrize(
    "statements",
    [
        f'PRAGMA application_id = {APPLICATION}; CREATE TABLE "a""b; DROP" (x); CREATE VIEW v AS {ENDLESS} SELECT i FROM n; '
        "PRAGMA user_version = 7",
        f"{SCHEMA}; PRAGMA user_version = 5000",
        f"{NAMED} CREATE TABLE embeddings (x); PRAGMA user_version = 4002",
    ],
    ids=["odd names", "5000 without an application id", "before 5000"],
)
def test_an_own_cache_of_another_version_is_renewed_and_nothing_said(tmp_path, statements):
    with sqlite3.connect(tmp_path / "artefacts.sqlite") as file:
        file.executescript(statements)
    file.close()
    said = []
    for _ in range(2):
        cache = ArtefactCache(tmp_path, said.append)
        assert cache.get(KIND, [KEY]) == [b"value" if _ else None]
        cache.put(KIND, {KEY: b"value"})
        cache.close()
    assert said == []


@pytest.mark.parametrize(
    "statements",
    [
        f"{NAMED} CREATE TABLE photographs (x); PRAGMA user_version = 4002",
        f"{SCHEMA}; CREATE TABLE photographs (x); PRAGMA user_version = 5000",
        f"{SCHEMA}; PRAGMA user_version = {VERSION + 1}",
        f"{SCHEMA}; PRAGMA application_id = 17; PRAGMA user_version = {VERSION}",
    ],
)
def test_a_database_that_is_nearly_a_former_cache_is_left_as_it_is(tmp_path, statements):
    with sqlite3.connect(tmp_path / "artefacts.sqlite") as file:
        file.executescript(statements)
    file.close()
    before, said = (tmp_path / "artefacts.sqlite").read_bytes(), []
    ArtefactCache(tmp_path, said.append).put(KIND, {KEY: b"value"})
    assert (tmp_path / "artefacts.sqlite").read_bytes() == before and "of another application" in said[0]


def test_a_journal_of_the_cache_that_names_a_file_does_not_remove_it(tmp_path):
    """SQLite removes the super-journal that a journal names once it has rolled it back."""
    cache = ArtefactCache(tmp_path / "cache")
    cache.put(KIND, {KEY: b"value"})
    cache.close()
    (tmp_path / "mine").write_text("kept")
    name, magic = str(tmp_path / "mine").encode(), bytes.fromhex("d9d505f920a163d7")
    header = (magic + struct.pack(">5I", 0xFFFFFFFF, 1, 5000, 512, 4096)).ljust(512, b"\0")
    named = struct.pack(">I", 1 << 20) + name + struct.pack(">II", len(name), sum(name)) + magic
    Path(f"{cache.path}-journal").write_bytes(header + bytes(8192) + named)
    said = []
    cache = ArtefactCache(tmp_path / "cache", said.append)
    cache.put(KIND, {KEY: b"other"})
    assert (tmp_path / "mine").read_text() == "kept"
    assert cache.get(KIND, [KEY]) == [b"other"] and len(said) == 1 and "is damaged" in said[0]


def test_a_cache_with_a_table_that_sqlite_cannot_drop_is_moved_aside(tmp_path):
    with sqlite3.connect(tmp_path / "artefacts.sqlite") as file:
        file.executescript(
            f"CREATE TABLE q (x); PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = "
            f"'CREATE VIRTUAL TABLE q USING nosuch(x)', rootpage = 0; PRAGMA application_id = {APPLICATION}; "
            "PRAGMA user_version = 7"
        )
    file.close()
    said = []
    cache = ArtefactCache(tmp_path, said.append)
    cache.put(KIND, {KEY: b"value"})
    cache.close()
    assert ArtefactCache(tmp_path, said.append).get(KIND, [KEY]) == [b"value"]
    assert len(said) == 1 and "is damaged" in said[0]
