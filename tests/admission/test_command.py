"""`kernelpoint check` judges any file by its exit code, in one line each, without a traceback."""

import json

from command_line import run_command
from profiler_files import CENSUS_HEAD
from trace_writer import cta, small_trace

SOUND, NAMED, REFUSED = 0, 1, 2
EXIT = "00f0 ffffffff 0 EXIT 0 0"
TRACE = small_trace(cta(["0000 ffffffff 1 R1 LDG.E 1 R4 4 1 0x7f3000200000 4", EXIT]))
UNIFORM = "idx,name,grid,block,dur_us\n" + "".join(f"{i},k{i % 3},4x1x1,64x1x1,{5 + i}.25\n" for i in range(40))
KINETO = json.dumps(
    {
        "traceEvents": [
            {"ph": "X", "cat": "kernel", "name": "k", "ts": 10.5 * i, "dur": 2.5, "args": {"correlation": i}} for i in range(20)
        ]
    }
)
OUTPUT = (
    "Accel-Sim [build 0]\nkernel_name = k\nkernel_launch_uid = 1\ngpu_sim_cycle = 600\ngpu_sim_insn = 9\n"
    "GPGPU-Sim: *** exit detected ***\n"
)
FORMS = {
    "kernel-1.traceg": TRACE,
    "times.csv": UNIFORM,
    "trace.json": KINETO,
    "out.txt": OUTPUT,
    "stats_ctx_0x1": CENSUS_HEAD + "kernel-1-ctx_0x1.trace.xz, _Z1kv, 2, 1, 1, 2, 64, 1, 1, 128, 0,0\n",
}


def checked(*words):
    return run_command("check", *words)


def test_sound_files_of_every_form_are_called_sound(tmp_path):
    for name, text in FORMS.items():
        (tmp_path / name).write_text(text)
    done = checked(*(tmp_path / name for name in FORMS))
    assert done.returncode == SOUND, done.stdout
    assert done.stdout.count(": sound") == len(FORMS)


def test_a_processed_list_is_a_list_whatever_its_name(tmp_path):
    (tmp_path / "kernel-1.traceg").write_text(TRACE)
    names = {"mine.txt": "kernel-1.traceg\n", "copies": "MemcpyHtoD,0x7f00,64\n" * 2 + "./kernel-1.traceg\n"}
    for name, text in names.items():
        (tmp_path / name).write_text(text)
    done = checked(*(tmp_path / name for name in names))
    assert done.returncode == SOUND and done.stdout.count(": list, 1 launches: sound") == 2, done.stdout


def test_a_cut_file_is_never_called_sound(tmp_path):
    for name in ("kernel-1.traceg", "trace.json"):
        text = FORMS[name]
        for end in range(40, len(text) - 2, len(text) // 5):
            path = tmp_path / f"{end}-{name}"
            path.write_text(text[:end])
            assert checked(path).returncode == REFUSED, (name, end)


def test_files_that_are_missing_are_refused_by_name(tmp_path):
    done = checked(tmp_path / "nothing", tmp_path / "no.g", tmp_path / "kernel-9.traceg")
    assert done.returncode == REFUSED and done.stdout.count("cannot be read") == 3


def test_kinds_that_no_check_has_are_refused_with_those_there_are(tmp_path):
    done = checked("--accept", "zero-adresses", tmp_path)
    assert done.returncode == 1 and "did you mean zero-addresses?" in done.stderr


def test_what_is_accepted_no_longer_refuses(tmp_path):
    path = tmp_path / "zero.csv"
    path.write_text(
        UNIFORM.replace(".25", "").replace(",5\n", ",0\n") + "".join(f"{i},k,4x1x1,64x1x1,0\n" for i in range(40, 60))
    )
    assert checked(path).returncode == REFUSED
    assert checked("--accept", "zero-durations", path).returncode == NAMED
