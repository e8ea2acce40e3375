"""Accel-Sim traces as MacSim's, against a plain implementation of both formats."""

import json
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from fast_reader import read_fast
from hypothesis import HealthCheck, given, settings
from plain_macsim import NUMBERS, read_launch_plainly, read_records, records_of
from slow_reader import read_slowly
from trace_writer import cta, small_trace, traces, write

from kernelpoint.errors import TraceError
from kernelpoint.simulators.macsim.convert import FIRST_CODE, convert_to_macsim
from kernelpoint.traces import fields_of, read_header, read_trace_list, scan_trace

SETTINGS = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LOAD = "0000 ffffffff 1 R1 LDG.E.SYS 1 R2 4 1 0x7f0000001000 {}"
EXIT = "0010 ffffffff 0 EXIT 0 0"


def convert(folder: Path, text: str, name: str = "macsim") -> Path:
    """The folder of the only launch."""
    path = Path(write(folder, text))
    (folder / "kernelslist.g").write_text(path.name + "\n")
    output = Path(mkdtemp(dir=folder, prefix=name))
    convert_to_macsim(folder / "kernelslist.g", output)
    return output / "Kernel0"


def grid_of(fields: dict[str, str], key: str) -> tuple[int, int, int]:
    x, y, z = json.loads(fields[key].replace("(", "[").replace(")", "]"))
    return x, y, z


@SETTINGS
@given(text=traces(newest=5))
def test_every_record_is_what_a_plain_converter_writes_and_reads_as_a_plain_reader_reads_it(tmp_path, text):
    launch = convert(tmp_path, text)
    fields, ctas = read_slowly(text)
    (gx, gy, _), block = grid_of(fields, "grid dim"), grid_of(fields, "block dim")
    expected = {}
    for read_cta in ctas:
        x, y, z = read_cta.index
        number = (x + gx * (y + gy * z)) << 16
        for warp, instructions in read_cta.warps or ((0, ()),):
            expected[number + warp] = records_of(instructions, FIRST_CODE, int(np.prod(block)))
    written = {int(path.stem[6:]): read_records(path) for path in launch.glob("trace_*.raw")}
    assert written == expected
    ids = list(map(str, sorted(expected)))
    assert (launch / "trace.txt").read_text().split()[3:] == [str(len(ids)), *(w for i in ids for w in (i, "0"))]
    counts = [word for i in sorted(expected) for word in (str(i), str(len(expected[i])))]
    assert (launch / "trace_info.txt").read_text().split() == counts
    assert read_fast(str(launch / "trace.txt")) == read_launch_plainly(launch, grid_of(fields, "grid dim"))


@SETTINGS
@given(text=traces(newest=5))
def test_the_header_survives(tmp_path, text):
    launch = convert(tmp_path, text)
    before, after = (fields_of(read_header(path)) for path in (write(tmp_path, text), launch / "trace.txt"))
    shape = ("kernel_name", "grid", "block", "shared_memory", "registers")
    assert [after[name] for name in shape] == [before[name] for name in shape]


def test_contiguous_accesses_come_back_exactly(tmp_path):
    for width, opcode in ((4, "LDG.E"), (8, "LDG.E.64"), (16, "LDG.E.128")):
        body = [LOAD.format(width).replace("LDG.E", opcode, 1), EXIT]
        text = small_trace(cta(body))
        launch = convert(tmp_path, text, f"w{width}")
        ((_, (first, _)),) = read_fast(str(launch / "trace.txt"))[0].warps
        assert list(first.addresses) == [0x7F0000001000 + width * lane for lane in range(32)]
        before, after = scan_trace(write(tmp_path, text)).work, scan_trace(launch / "trace.txt").work
        assert (after.sectors, after.bytes) == (before.sectors, before.bytes)


@SETTINGS
@given(text=traces(version=6))
def test_a_launch_of_version_6_is_converted_and_read_back(tmp_path, text):
    before, after = read_fast(write(tmp_path, text)), read_fast(str(convert(tmp_path, text) / "trace.txt"))
    warps = {(c.index, warp): [i for i in body if i.mask] for c in before for warp, body in c.warps}
    for each in after:
        for warp, body in each.warps:
            assert len(body) == max(len(warps.get((each.index, warp), [])), 1)


def test_a_bulk_copy_becomes_a_move_and_is_reported(tmp_path):
    copy = "0000 1 0 UTMALDG.2D 2 UR4 UR8 16 80 0 640 0 4 0x7f0000001000 40 " + "16 " * 39 + "0 NoVal"
    path = Path(write(tmp_path, small_trace(cta([copy, f"{EXIT} 0 NoVal"]), version=6)))
    (tmp_path / "kernelslist.g").write_text(path.name + "\n")
    made = convert_to_macsim(tmp_path / "kernelslist.g", tmp_path / "out")
    records = read_records(tmp_path / "out" / "Kernel0" / "trace_0.raw")
    assert [record["opcode"] for record in records] == [NUMBERS["MOV"], NUMBERS["EXIT"]]
    assert records[0]["is_load"] == records[0]["space"] == records[0]["address"] == 0
    assert made.approximated == {"UTMALDG": 1}


def test_a_stride_of_a_sector_keeps_its_sectors(tmp_path):
    launch = convert(tmp_path, small_trace(cta([LOAD.format(256), EXIT])))
    assert len(read_records(launch / "trace_0.raw")) == 33
    ((_, (first, _)),) = read_fast(str(launch / "trace.txt"))[0].warps
    assert list(first.addresses) == [0x7F0000001000 + 256 * lane for lane in range(32)]


def test_an_opcode_that_macsim_lacks_is_written_as_the_nearest_and_counted(tmp_path):
    body = [LOAD.format(4).replace("LDG.E.SYS", "LDGSTS.E"), "0010 ffffffff 0 NEW_OPCODE 0 0", EXIT]
    path = Path(write(tmp_path, small_trace(cta(body, body))))
    (tmp_path / "kernelslist.g").write_text(f"{path.name}\n{path.name}\n")
    made = convert_to_macsim(tmp_path / "kernelslist.g", tmp_path / "out")
    assert made.approximated == {"LDGSTS": 2, "NEW_OPCODE": 2}
    assert (made.launches, made.folders, made.warps, made.records, made.most_warps) == (2, 1, 2, 6, 2)
    assert [r["opcode"] for r in read_records(tmp_path / "out/Kernel0/trace_0.raw")] == [73, 156, 139]


def test_a_grid_that_macsim_cannot_number_is_refused(tmp_path):
    text = small_trace(cta([EXIT]), grid="(32769,1,1)")
    with pytest.raises(TraceError, match=r"kernel-1.traceg: expected a grid of at most 32768 CTAs .* found 32769"):
        convert(tmp_path, text)


def test_a_kernel_with_code_far_out_is_refused(tmp_path):
    text = small_trace(cta(["1000000 ffffffff 0 EXIT 0 0"]))
    with pytest.raises(TraceError, match=r"kernel-1.traceg: expected a kernel of at most 16 MiB of code"):
        convert(tmp_path, text)


def test_the_list_names_every_launch_in_order(tmp_path):
    launch = convert(tmp_path, small_trace(cta([EXIT])))
    assert (launch.parent / "kernel_config.txt").read_text() == "nvbit\n14\n-1\n./Kernel0/trace.txt\n"
    assert read_trace_list(launch.parent).traces == [str(launch / "trace.txt")]
    assert (launch.parent / "kernel_names.txt").read_text() == (
        "Kernel0 name: _Z3addPf\n  Grid size: (1, 1, 1), Block size: (32, 1, 1), maxBlockPerCore: 32, # of regs: 16, "
        "static shared mem: 0, dynamic shared mem: 0\n"
    )
