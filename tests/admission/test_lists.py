"""Every check of lists and traces finds its input, and leaves a sound one alone."""

import gzip
import lzma

import pytest
from trace_writer import cta, numbered, small_trace

from kernelpoint.admission import Effect, ListFiles, findings_of
from kernelpoint.errors import TraceError
from kernelpoint.traces import ArtefactCache, fields_of, read_trace_list, scan_launches, scan_trace

EXIT = "00f0 ffffffff 0 EXIT 0 0"
WORK = ["0000 ffffffff 1 R1 LDG.E 1 R4 4 1 0x7f3000200000 4", "0010 ffffffff 1 R2 IADD3 2 R1 R3 0"]
BARRIER = "0020 ffffffff 0 BAR.SYNC 0 0"
BEHIND = "0030 ffffffff 0 STG.E 2 R4 R2 4 1 0x7f3000300000 4"
WARP = [*WORK, BARRIER, BEHIND, EXIT]
GRID = "(2,1,1)"


def ctas(*warps, indices=("0,0,0", "1,0,0")):
    return "".join(cta(*warps, index=index) for index in indices)


def sound(**fields):
    return small_trace(ctas(WARP, WARP), GRID, **fields)


def folder_of(tmp_path, traces, list_text=None, names=None):
    names = names or [f"kernel-{n}.traceg" for n in range(1, len(traces) + 1)]
    for name, text in zip(names, traces, strict=True):
        (tmp_path / name).write_text(numbered(text, name))
    if list_text is not None:
        (tmp_path / "kernelslist.g").write_text(list_text)
    return tmp_path


def by_kind(folder, architecture=0):
    listed = read_trace_list(folder)
    scan = scan_launches(listed.traces, ArtefactCache(folder / "cache"))
    return {finding.kind: finding for finding in findings_of(ListFiles(listed.with_contents_of(scan), architecture))}


ZERO = [line.replace("0x7f3000200000 4", "0x0 0") for line in WARP]
LACKS = [line for line in WARP if line != BARRIER]
LEAVES = [*WORK, EXIT]  # before the barrier
APART = [*WORK, "0020 0000ffff 0 BAR.SYNC 0 0", "0020 ffff0000 0 BAR.SYNC 0 0", BEHIND, EXIT]
LOADS = [f"0010 ffffffff 1 R1 LDG.E 1 R4 4 1 {0x7F3000200000 + 128 * n:#x} 4" for n in range(300)]
SEVERAL_EXITS = ["0000 ffffffff 1 R1 S2R 0 0", "0010 0000ffff 0 EXIT 0 0", "0020 ffffffff 1 R1 MOV 0 0", EXIT]
TURN = [BARRIER, BEHIND]
SOUND = {
    "equal launches": [sound()] * 4,
    "one address of zero among many": [
        small_trace(ctas(*2 * [[*LOADS, "0010 ffffffff 1 R1 LDG.E 1 R4 4 1 0x0 4", EXIT]]), GRID)
    ],
    "a warp that leaves early waits nowhere": [small_trace(ctas(WARP, LEAVES), GRID)],
    "lanes that wait apart": [small_trace(ctas(WARP, APART), GRID)],
    "specialised warps of Hopper, with barriers of their own": [
        small_trace(ctas(WARP, LACKS), GRID, **{"binary version": "90"})
    ],
    "a tracer that writes no exit": [small_trace(ctas(WARP[:-1], WARP[:-1]), GRID)] * 3,
    "two warps that leave at several exits": [small_trace(ctas(SEVERAL_EXITS, SEVERAL_EXITS), GRID)],
}
# Kind -> traces, text of their list
ODD = {
    "missing-barriers": (
        [small_trace(ctas([*WORK, *TURN * 3, EXIT], [*WORK, *TURN, BEHIND, *TURN, EXIT]), GRID)],
        None,
    ),  # in one turn of a loop
    "mixed-code": ([sound(), sound(), sound(**{"binary version": "80"})], None),
    "communication": ([sound(), sound(**{"kernel name": "ncclDevKernel_AllReduce_Sum_f16"})], None),
    "ends-with-copy": ([sound()], "kernel-1.traceg\nMemcpyHtoD,0x20,8\n\n"),
    "single-warp-exits": ([small_trace(ctas(SEVERAL_EXITS), GRID, block="(32,1,1)")], None),
}
DAMAGED = {
    "zero-addresses": small_trace(ctas(ZERO, ZERO), GRID),
    "missing-warps": small_trace(ctas(WARP), GRID, block="(64,1,1)"),
    "empty-warps": small_trace(ctas(WARP, []), GRID),
    "missing-barriers": small_trace(ctas(WARP, LACKS), GRID),
    "repeated-ctas": small_trace(ctas(WARP, WARP, indices=("1,0,0", "1,0,0")), GRID),
    "missing-exits": small_trace(ctas(WARP, WARP[:-1]), GRID),
    "idle-lanes": small_trace(ctas(*[[line.replace("ffffffff", "00000000") for line in WARP]] * 2), GRID),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_list_has_no_finding(tmp_path, name):
    assert by_kind(folder_of(tmp_path, SOUND[name])) == {}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_list_is_named_by_its_kind_alone(tmp_path, kind):
    assert set(by_kind(folder_of(tmp_path, *ODD[kind]))) == {kind}


@pytest.mark.parametrize("kind", DAMAGED)
@pytest.mark.parametrize(("sound_traces", "outcome"), [(3, Effect.WITHDRAWS), (150, Effect.NAMED)])
def test_a_damaged_trace_is_found_and_many_take_the_bound(tmp_path, kind, sound_traces, outcome):
    findings = by_kind(folder_of(tmp_path, [*[sound()] * sound_traces, DAMAGED[kind]]))
    assert set(findings) == {kind} and findings[kind].outcome is outcome
    assert findings[kind].what.startswith(f"1 of {sound_traces + 1} launches") and findings[kind].place.endswith("g")


def test_traces_without_a_cta_cannot_meet_a_budget(tmp_path):
    empty = small_trace("", GRID)
    findings = by_kind(folder_of(tmp_path, [sound(), *[empty] * 11]))
    assert findings["unreadable"].outcome is Effect.BUDGET_CANNOT_BE_MET and findings["unreadable"].launches == pytest.approx(
        11 / 12
    )


def test_code_that_is_newer_than_the_configuration_is_named(tmp_path):
    folder = folder_of(tmp_path, [sound(**{"binary version": "86"})] * 2)
    assert "sm_86; the configuration is for sm_70" in by_kind(folder, 70)["newer-code"].what
    assert by_kind(folder, 86) == {} and by_kind(folder, 0) == {}


TWO = [f"kernel-{n}-ctx_0x{context}.traceg" for context in ("55d0", "7a10") for n in (1, 2, 3)]


def test_a_folder_of_two_contexts_is_refused_with_both_lists(tmp_path):
    folder = folder_of(tmp_path, [sound()] * 6, names=TWO)
    with pytest.raises(TraceError, match=r"2 CUDA contexts \(ctx_0x55d0, ctx_0x7a10\)"):
        read_trace_list(folder)
    for context in ("55d0", "7a10"):
        names = [name for name in TWO if context in name]
        (folder / f"kernelslist_ctx_0x{context}.g").write_text("\n".join(names) + "\n")
    with pytest.raises(TraceError, match=r"kernelslist_ctx_0x55d0.g, kernelslist_ctx_0x7a10.g"):
        read_trace_list(folder)
    assert len(read_trace_list(folder / "kernelslist_ctx_0x7a10.g").traces) == 3


def test_a_list_of_one_context_beside_traces_of_another_is_refused_unless_it_is_called_so(tmp_path):
    folder = folder_of(tmp_path, [sound()] * 6, "\n".join(TWO[:3]) + "\n", TWO)
    listed = ListFiles(read_trace_list(folder / "kernelslist.g"))
    finding = {finding.kind: finding for finding in findings_of(listed)}["several-contexts"]
    assert finding.outcome is Effect.REFUSES and finding.launches == 0.5 and "kernelslist_ctx_0x7a10.g" in finding.what
    (folder / "kernelslist_ctx_0x55d0.g").write_text("\n".join(TWO[:3]) + "\n")
    assert findings_of(ListFiles(read_trace_list(folder / "kernelslist_ctx_0x55d0.g"))) == []
    both = folder / "both.g"
    both.write_text("\n".join(TWO) + "\n")
    assert {finding.kind for finding in findings_of(ListFiles(read_trace_list(both)))} >= {"several-contexts"}


def test_the_only_list_of_a_context_stands_for_its_folder(tmp_path):
    folder = folder_of(tmp_path, [sound()] * 3, names=TWO[:3])
    (folder / "kernelslist_ctx_0x55d0.g").write_text(f"MemcpyHtoD,0x20,8\n{TWO[0]}\n{TWO[0]}\n")
    assert read_trace_list(folder).size == 2 and len(read_trace_list(folder).copies[0]) == 1


def test_a_folder_of_ranks_is_refused_with_the_folders_that_have_lists_and_a_command(tmp_path):
    for name in ("rank1", "rank0", "notes"):
        (tmp_path / name).mkdir()
    folder_of(tmp_path / "rank0", [sound()], "kernel-1.traceg\n")
    folder_of(tmp_path / "rank1", [sound()])
    with pytest.raises(TraceError, match=r"2 folders with traces in it \(rank0, rank1\)") as refusal:
        by_kind(tmp_path)
    assert f"`kernelpoint plan {tmp_path}/rank0`" in str(refusal.value)


def test_a_folder_of_many_ranks_is_refused_in_one_short_message(tmp_path):
    for rank in range(20):
        (tmp_path / f"rank{rank:02}").mkdir()
        folder_of(tmp_path / f"rank{rank:02}", [sound()])
    with pytest.raises(TraceError, match=r"20 folders with traces in it \(rank00, .*, rank07 and 12 more\)"):
        by_kind(tmp_path)


def test_traces_beside_the_list_and_gaps_in_its_numbers_are_named(tmp_path):
    folder = folder_of(tmp_path, [sound()] * 6, "kernel-1.traceg\nkernel-2.traceg\nkernel-5.traceg\n")
    findings = {finding.kind: finding for finding in findings_of(ListFiles(read_trace_list(folder)))}
    assert findings["not-in-list"].launches == 0.5 and findings["gaps"].launches == pytest.approx(0.4)
    assert findings["not-in-list"].place == str(folder / "kernel-3.traceg"), "the first trace beside the list"
    assert findings["gaps"].place == "launch 3", "the first number that the list lacks"


def test_launches_that_share_a_trace_leave_no_gap_in_the_numbers(tmp_path):
    folder = folder_of(tmp_path, [sound()] * 3, "kernel-1.traceg\nkernel-1.traceg\nkernel-3.traceg\n")
    assert "gaps" not in {finding.kind for finding in findings_of(ListFiles(read_trace_list(folder)))}


def test_absolute_and_dotted_names_are_read_and_named_also_after_a_move(tmp_path):
    names = ["kernel-1.traceg", "./kernel-2.traceg", f"{tmp_path}/kernel-3.traceg", "/elsewhere/traces/kernel-4.traceg"]
    folder = folder_of(tmp_path, [sound()] * 4, "\n".join(names) + "\n")
    listed = read_trace_list(folder)
    assert [path.rpartition("/")[2] for path in listed.traces] == [f"kernel-{n}.traceg" for n in (1, 2, 3, 4)]
    assert listed.numbers.tolist() == [1, 2, 3, 4]
    assert by_kind(folder)["names-not-read"].what.startswith("3 lines")


def test_an_absolute_name_never_leads_out_of_the_lists_folder(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "list").mkdir()
    (tmp_path / "other" / "kernel-1.traceg").write_text(sound())
    path = tmp_path / "list" / "kernelslist.g"
    (tmp_path / "trace.txt").write_text("root:x:0:0\n")
    names = [f"{tmp_path}/other/kernel-1.traceg", "./../other/kernel-1.traceg", "/etc/../kernel-1.traceg"]
    for text in [*names, "kernel-1/../../trace.txt", "nvbit\n14\n-1\n./../trace.txt"]:
        path.write_text(text + "\n")
        with pytest.raises(TraceError, match=r"(lies|leads) outside the (list's )?folder") as caught:
            read_trace_list(path)
        assert "root:" not in str(caught.value)


@pytest.mark.parametrize(("others", "outcome"), [(2, Effect.REFUSES), (150, Effect.NAMED)])
@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_a_trace_that_was_copied_over_another_is_found_and_its_share_refuses(tmp_path, others, outcome, ending):
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[ending]
    copy = pack(numbered(sound(), "kernel-3").encode())
    folder = folder_of(tmp_path, [sound()] * others)
    for number in (3, 7):
        (folder / f"kernel-{number}.traceg{ending}").unlink(missing_ok=True)
        (folder / f"kernel-{number}.traceg").unlink(missing_ok=True)
        (folder / f"kernel-{number}.traceg{ending}").write_bytes(copy)
    case, size = by_kind(folder)["copied-trace"], max(others, 4)
    assert case.outcome is outcome and case.what.startswith(f"1 of {size} launches")
    assert case.launches == case.time == pytest.approx(1 / size)
    assert case.place == f"{folder}/kernel-7.traceg{ending}, from {folder}/kernel-3.traceg{ending}"
    assert by_kind(folder)["copied-trace"] == case  # from the cache


RENUMBERED = {"a trace of another content": "FADD", "a link, which repeats a launch": None}


@pytest.mark.parametrize("opcode", RENUMBERED.values(), ids=RENUMBERED)
def test_a_number_alone_does_not_make_a_copy(tmp_path, opcode):
    folder = folder_of(tmp_path, [sound()] * 3)
    (other := folder / "kernel-3.traceg").unlink()
    if opcode is None:
        other.symlink_to("kernel-2.traceg")
    else:
        other.write_text(numbered(sound().replace("IADD3", opcode), "kernel-2"))
    assert "copied-trace" not in by_kind(folder)


@pytest.mark.parametrize("members", [1, 3])
def test_gzip_traces_are_read_like_plain_ones(tmp_path, members):
    text = sound(**{"kernel id": "2"}).encode()
    plain, packed = tmp_path / "kernel-1.traceg", tmp_path / "kernel-2.traceg.gz"
    plain.write_text(sound())
    size = len(text) // members + 1
    packed.write_bytes(b"".join(gzip.compress(text[at : at + size]) for at in range(0, len(text), size)))
    assert scan_trace(plain).stream == scan_trace(packed).stream
    assert fields_of(scan_trace(plain).work) == fields_of(scan_trace(packed).work)
    (tmp_path / "kernelslist.g").write_text("kernel-1.traceg\nkernel-2.traceg.gz\n")
    assert set(by_kind(tmp_path)) == {"container"}


@pytest.mark.parametrize("cut", [1, 9, 60])
def test_a_gzip_trace_that_is_cut_or_damaged_is_refused(tmp_path, cut):
    data = gzip.compress(sound().encode())
    path = tmp_path / "kernel-1.traceg.gz"
    path.write_bytes(data[:-cut])
    with pytest.raises(TraceError, match=r"gzip stream is truncated|expected"):
        scan_trace(path)
    path.write_bytes(data[:20] + bytes([data[20] ^ 255]) + data[21:])
    with pytest.raises(TraceError):
        scan_trace(path)


def test_an_xz_trace_under_another_name_is_recognised_by_its_content(tmp_path):
    path = tmp_path / "kernel-1.traceg.gz"
    path.write_bytes(lzma.compress(sound().encode()))
    assert scan_trace(path).work.ctas == 2


@pytest.mark.parametrize("stream", ["-1412567072", "140340344425120", "0"])
def test_streams_that_are_pointers_are_read(tmp_path, stream):
    (tmp_path / "kernel-1.traceg").write_text(sound(**{"cuda stream id": stream}))
    assert scan_trace(tmp_path / "kernel-1.traceg").header.stream_id == int(stream)


NUMBERS = [
    "kernel id",
    "grid dim",
    "block dim",
    "shmem",
    "nregs",
    "binary version",
    "cuda stream id",
    "shmem base_addr",
]


@pytest.mark.parametrize("field", NUMBERS)
def test_text_where_a_header_has_a_number_is_refused_also_beside_an_equal_trace(tmp_path, field):
    folder = folder_of(tmp_path, [sound(), sound(**{field: "legacy"})])
    case = by_kind(folder)["unreadable"]
    assert f"kernel-2.traceg:{2 + NUMBERS.index(field)}: expected '-{field} = " in case.place
    assert case.place.endswith(f"found '-{field} = legacy'")


def test_a_header_without_versions_is_that_of_an_old_tracer(tmp_path):
    text = small_trace(cta([f"0 0 0 0 {EXIT}"]), block="(32,1,1)", version=2)
    new = tmp_path / "kernel-1.traceg"
    new.write_text(text)
    old = tmp_path / "kernel-2.traceg"
    old.write_text("\n".join(line for line in text.split("\n") if "version = " not in line or "binary" in line))
    assert scan_trace(old).stream == scan_trace(new).stream and scan_trace(old).header.tracer_version == 0


@pytest.mark.parametrize("name", ["αβ_kernel", "核函数<float>", "Kern\u00e4l"])
def test_kernel_names_in_any_script_are_read(tmp_path, name):
    (tmp_path / "kernel-1.traceg").write_text(sound(**{"kernel name": name}))
    assert scan_trace(tmp_path / "kernel-1.traceg").header.kernel_name == name


@pytest.mark.parametrize("name", [b"a\x1b[2J", b"\xff\xfe", b"\xc3(", b"\xc2\x9b1m", b"\xed\xa0\x80", b"\xe0\x80\xaf"])
def test_kernel_names_that_are_no_text_or_control_a_terminal_are_refused(tmp_path, name):
    data = sound(**{"kernel name": "NAME"}).encode().replace(b"NAME", name)
    (tmp_path / "kernel-1.traceg").write_bytes(data)
    with pytest.raises(TraceError, match="printable text in UTF-8"):
        scan_trace(tmp_path / "kernel-1.traceg")


@pytest.mark.parametrize("first", [b"", b"MemcpyHtoD,0x7f3000200000,64\n"])
def test_a_list_with_a_byte_order_mark_is_refused_because_the_simulator_passes_over_its_first_line(tmp_path, first):
    folder = folder_of(tmp_path, [sound()] * 200)
    lines = b"".join(b"kernel-%d.traceg\n" % n for n in range(1, 201))
    (folder / "kernelslist.g").write_bytes(b"\xef\xbb\xbf" + first + lines)
    assert by_kind(folder)["byte-order-mark"].outcome is Effect.REFUSES


def test_a_list_in_another_order_than_the_tracers_is_named_unless_it_repeats_traces(tmp_path):
    folder = folder_of(tmp_path, [sound()] * 3, "kernel-2.traceg\nkernel-3.traceg\nkernel-1.traceg\n")
    assert by_kind(folder)["unordered"].place.endswith("kernel-3.traceg")
    (folder / "kernelslist.g").write_text("kernel-1.traceg\nkernel-2.traceg\nkernel-3.traceg\n" * 2)
    assert by_kind(folder) == {}


def list_of(*numbers):
    return "".join(f"kernel-{number}.traceg\n" for number in numbers)


@pytest.mark.parametrize("numbers", [(1, 2, 3, 3, 5, 6), (1, 2, 3, 1, 5, 6), (1, 2, 3, 5, 5, 6)])
@pytest.mark.parametrize("is_beside", [True, False])
def test_a_trace_that_stands_for_a_missing_one_is_named_with_its_share(tmp_path, numbers, is_beside):
    there = [1, 2, 3, 4, 5, 6] if is_beside else [1, 2, 3, 5, 6]
    names = [f"kernel-{number}.traceg" for number in there]
    case = by_kind(folder_of(tmp_path, [sound()] * len(there), list_of(*numbers), names))["repeated-for-missing"]
    assert case.effect is Effect.NAMED and case.launches == pytest.approx(1 / 6) and case.time == pytest.approx(1 / 6)
    assert case.place.endswith(f"kernel-{numbers[3]}.traceg")


REPLAYS = [(1, 2, 3, 4, 2, 3, 4, 5, 6), (1, 2, 2, 2, 3, 4, 5, 6), (1, 2, 4, 2, 4, 2, 4, 6), (1, 2, 3, 5, 6, 3, 5, 6)]


@pytest.mark.parametrize("numbers", REPLAYS)
def test_replays_of_a_graph_stand_for_no_missing_trace(tmp_path, numbers):
    there = sorted(set(numbers))
    names = [f"kernel-{number}.traceg" for number in there]
    folder = folder_of(tmp_path, [sound()] * len(there), list_of(*numbers), names)
    assert "repeated-for-missing" not in by_kind(folder)
