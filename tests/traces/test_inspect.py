"""`kernelpoint file inspect` shows the content of a trace."""

import json

from command_line import run_command
from trace_writer import cta, small_trace, write

from kernelpoint.traces import scan_trace

TEXT = small_trace(
    cta(
        [
            "0010 0000000f 1 R2 LDG.E.SYS 1 R4 4 1 0x7f0000001000 4",
            "0010 0000000f 1 R2 LDG.E.SYS 1 R4 4 1 0x7f0000001000 32",
            "0030 ffffffff 0 STS 2 R2 R3 4 1 0x40 4",
            "0040 ffffffff 0 EXIT 0 0",
        ]
    )
)


def inspect(*arguments):
    return run_command("file", "inspect", *arguments)


def test_json_holds_header_work_footprint_opcodes_and_stream(tmp_path):
    path = write(tmp_path, TEXT)
    done = inspect(path, "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["stream"] == scan_trace(path).stream
    assert shown["header"]["kernel_name"] == "_Z3addPf"
    assert shown["header"]["block"] == [32, 1, 1]
    assert shown["work"]["instructions"] == 4
    assert shown["work"]["sectors"] == 5
    assert shown["work"]["by_unit"]["memory"] == 3
    assert shown["footprint"] == {"lowest": 0x7F0000001000, "highest": 0x7F0000001063, "bytes": 4 * 32}
    assert shown["opcodes"] == {"LDG.E.SYS": 2, "STS": 1, "EXIT": 1}


def test_the_tables_name_the_kernel_and_the_stream(tmp_path):
    path = write(tmp_path, TEXT)
    done = inspect(path)
    assert done.returncode == 0, done.stderr
    assert "_Z3addPf" in done.stdout
    assert scan_trace(path).stream in done.stdout
    assert "LDG.E.SYS" in done.stdout


def test_a_trace_that_cannot_be_used_gives_one_line_and_a_failing_exit(tmp_path):
    done = inspect(str(tmp_path / "none"))
    assert done.returncode == 1
    assert done.stderr.strip().split("\n") == [
        f"kernelpoint file inspect: {tmp_path / 'none'}: cannot be opened: No such file or directory"
    ]
