"""Names that are no text, links to themselves, numbers that nobody means, environments and file systems that lack something."""

import os
import subprocess
import sys

import pytest
from command_line import PROCESS, run_command
from embedded_host import host_command, run_host
from in_time import in_time
from samples import CENSUS

from kernelpoint.errors import KernelPointError
from kernelpoint.graphs import build_graph
from kernelpoint.planning.plan import Plan
from kernelpoint.program import Program
from kernelpoint.traces import read_header, read_trace_list, scan_trace

FUNCTIONS = {"list": read_trace_list, "trace": scan_trace, "header": read_header, "graph": lambda p: build_graph(p, 1000)}


@pytest.mark.parametrize(
    ("name", "reason"),
    [("kernel-\udcff.traceg", "is no UTF-8; rename the file"), ("kernel\0.traceg", "a byte of value 0")],
)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_name_that_is_none_is_one_message(function, name, reason):
    with pytest.raises(KernelPointError, match=reason) as caught:
        FUNCTIONS[function](name)
    str(caught.value).encode()


def test_a_list_may_name_only_what_is_text(here):
    for name in (b"kernel-1.traceg", b"kernel-\xff.traceg"):
        (here / os.fsdecode(name)).write_text("no trace\n")
    (here / "kernelslist.g").write_bytes(b"kernel-1.traceg\nkernel-\xff.traceg\n")
    with pytest.raises(KernelPointError, match=r"kernel-.*xff\.traceg.* is refused: it contains the byte 0xff") as caught:
        read_trace_list(here / "kernelslist.g")
    str(caught.value).encode()


@pytest.mark.parametrize("command", ["plan", "file convert", "lab train", "file inspect"])
def test_a_file_whose_name_is_no_text_is_one_message(here, kernelpoint, command):
    name = "kernelslist-\udcff.g"
    (here / name).write_text("kernel-1.traceg\n")
    output = [] if command == "file inspect" else ["-o", "made.safetensors" if command == "lab train" else "made"]
    code, text = kernelpoint(*command.split(), name, *output)
    assert code and "is no UTF-8" in text


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["patch", "accelsim", "loop"], "no source tree of Accel-Sim"),
        (["select", "stats_ctx_0x5d0", "-o", "out", "--spare", "1e999"], "--spare"),
        (["compare", "-w", "truth=x.csv", "--seeds", "9" * 20], "--seeds"),
        (["plan", "LIST", "-o", "x.kpplan", "--workers", "9" * 20], "--workers"),
        (["run", "-c", "k.yaml", "--workers", "9" * 20, "--", "true"], "--workers"),
        (["lab", "train", "LIST", "-o", "x.safetensors", "--epochs", "9" * 20], "epochs"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else value,
)
def test_a_number_or_a_link_that_nobody_means_is_refused(here, traces, kernelpoint, arguments, allowed):
    (here / "loop").symlink_to("loop")
    (here / "stats_ctx_0x5d0").write_text(CENSUS)
    code, text = kernelpoint(*(str(traces) if part == "LIST" else part for part in arguments))
    assert code and allowed in text and len(text) < 3000


def test_a_name_that_the_terminal_cannot_show_is_shown_in_other_letters(here):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*PROCESS, "report", "fehlt-\u00e4.kpjournal"], env=environment, capture_output=True)
    assert done.returncode == 1 and b"Traceback" not in done.stderr and b"fehlt-" in done.stderr


@pytest.mark.parametrize(
    "change",
    [
        {"HOME": None, "TERM": None, "COLUMNS": "1"},
        {"HOME": "/nonexistent", "COLUMNS": "9" * 30, "LC_ALL": "C"},
    ],
    ids=str,
)
def test_a_command_needs_nothing_of_its_environment(here, change):
    environment = {key: value for key, value in os.environ.items() if key not in change}
    environment |= {key: value for key, value in change.items() if value is not None}
    (here / "stats_ctx_0x5d0").write_text(CENSUS)
    environment.pop("KERNELPOINT_CACHE", None)
    command = [*PROCESS, "select", "stats_ctx_0x5d0", "-o", "out"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (here / "out" / "selection.kpselect").exists()


@pytest.mark.parametrize("folder", ["x" * 300, "/dev/null/x", "/proc/none", "\udcff"], ids=lambda folder: repr(folder)[:15])
def test_a_plan_is_made_where_the_cache_cannot_lie(traces, tmp_path, monkeypatch, folder):
    monkeypatch.setenv("KERNELPOINT_CACHE", folder)
    monkeypatch.chdir(tmp_path)
    done = run_command("plan", traces, "-o", "run.kpplan", "--gpu", "v100", "--policy", "random", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "run.kpplan").exists(), done.stderr


def test_a_plan_is_not_kept_where_a_link_in_the_cache_leads(traces, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(tmp_path / "cache"))
    for folder in ("cache", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "cache" / "plans").symlink_to(tmp_path / "elsewhere")
    done = run_command("plan", traces, "-o", "run.kpplan", "--gpu", "v100", "--policy", "random", cwd=tmp_path)
    assert done.returncode == 0 and "is a link" in done.stderr and list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("where", ["a reader that has gone", "a closed descriptor", "a full disk"])
def test_an_output_that_nobody_takes_is_no_traceback(here, where):
    redirect = {"a reader that has gone": "| true", "a closed descriptor": ">&-", "a full disk": ">/dev/full"}[where]
    shell = f"'{sys.executable}' -c 'from kernelpoint.cli import main; main()' --help {redirect}"
    with in_time():
        done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr, done.stderr


LAYER = "no_locks.c"


@pytest.fixture
def without_locks(layer, tmp_path):
    """Run a command whose locks are all refused; SQLite would wait for a minute on each."""
    environment = {**os.environ, "LD_PRELOAD": str(layer), "KERNELPOINT_CACHE": str(tmp_path / "cache")}

    def run(*command: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            list(map(str, command)), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=50
        )

    return run


def test_a_plan_is_made_without_a_cache_and_says_why(without_locks, traces, tmp_path):
    done = without_locks(*PROCESS, "plan", traces, "-o", "run.kpplan", "--gpu", "v100", "--policy", "random")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert "(its file system refuses locks: No locks available); nothing read from now on is remembered" in said
    assert Plan.load(tmp_path / "run.kpplan", Program((12,))).design.strata.tolist() == 12 * [0]


def test_a_run_is_refused_with_the_reason_before_anything_is_simulated(without_locks, traces, tmp_path):
    done = without_locks(*host_command(traces, tmp_path, "policy: random", "-results", "r.csv"))
    assert done.returncode != 0
    assert "run.kpjournal cannot be locked: No locks available; name one on another file system" in done.stderr
    assert not (tmp_path / "run.kpjournal").exists() and not (tmp_path / "r.csv").exists()


def test_a_report_is_read_without_locks(without_locks, traces, tmp_path):
    run_host(traces, tmp_path, "policy: random", check=True)
    done = without_locks(*PROCESS, "file", "status", "run.kpjournal")
    assert done.returncode == 0 and "ended" in done.stdout, done.stderr
