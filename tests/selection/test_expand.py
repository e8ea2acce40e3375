"""A program with CUDA graphs is the list of all its launches, joined from a profile of replays and traces of nodes."""

import json
import random

import numpy as np
import pytest
from profiler_files import CENSUS_HEAD, write_nsys_tables
from trace_writer import cta, small_trace

import kernelpoint as kp
from kernelpoint.cli import command
from kernelpoint.errors import AdmissionError, ConfigError, TraceError
from kernelpoint.program import Program, ProgramBuilder
from kernelpoint.selection import Selection
from kernelpoint.selection.census import repetition
from kernelpoint.traces import read_trace_list

LAYERS, REPLAYS, EAGER = 4, 100, 6
LAYER = ("norm", "qkv", "attention", "project", "up", "down")
NODES = ["embed", *(name for _ in range(LAYERS) for name in LAYER), "head"]  # 26 launches of a decode step
GRID = {"embed": 2, "norm": 2, "qkv": 12, "attention": 8, "project": 6, "up": 16, "down": 14, "head": 24, "load": 4}


def trace_of(name, number):
    """A launch that reads its weights, which stay from step to step, and what the launch before it wrote."""
    weights, activations = 0x7F3000000000 + 0x100000 * number, 0x7F4000000000
    ctas = []
    for index in range(GRID[name]):
        warps = []
        for warp in range(2):
            lines, pc = [], 0
            for turn in range(4 + len(name)):
                address = weights + 0x2000 * index + 0x1000 * warp + 128 * turn
                lines.append(f"{pc:04x} ffffffff 1 R2 LDG.E 1 R4 4 1 {address:#x} 4")
                lines.append(f"{pc + 16:04x} ffffffff 1 R3 FFMA 3 R2 R3 R1 0")
                pc += 32
            lines.append(f"{pc:04x} ffffffff 1 R6 LDG.E 1 R4 4 1 {activations + 128 * (number - 1):#x} 4")
            lines.append(f"{pc + 16:04x} ffffffff 0 STG.E 2 R4 R3 4 1 {activations + 128 * number:#x} 4")
            warps.append([*lines, f"{pc + 32:04x} ffffffff 0 EXIT 0 0"])
        ctas.append(cta(*warps, index=f"{index},0,0"))
    return small_trace(
        "".join(ctas),
        f"({GRID[name]},1,1)",
        "(64,1,1)",
        **{"kernel name": f"_Z{len(name)}{name}Pf", "kernel id": str(number)},
    )


@pytest.fixture(scope="module")
def decode(tmp_path_factory):
    """Traces as a tracer leaves them: six launches that load, and each node of the graph once."""
    folder = tmp_path_factory.mktemp("decode")
    names = ["load"] * EAGER + NODES
    lines = ["MemcpyHtoD,0x00007f3000000000,4096"]
    for number, name in enumerate(names, 1):
        (folder / f"kernel-{number}.traceg").write_text(trace_of(name, number))
        lines.append(f"kernel-{number}.traceg")
    (folder / "kernelslist.g").write_text("\n".join(lines) + "\n")
    return folder


def program(replays=REPLAYS):
    """Name, call and node of each launch; node 0 is none."""
    rows = [("load", 1 + i, 0) for i in range(EAGER)]
    return rows + [(name, 1000 + r, 1 + n) for r in range(replays) for n, name in enumerate(NODES)]


EXPECTED = [*range(EAGER), *(EAGER + n for _ in range(REPLAYS) for n in range(len(NODES)))]


def sqlite_profile(path, rows, with_nodes=True, process=lambda i: 1):
    columns = "start, end, globalPid, correlationId, graphNodeId, mangledName, gridX, gridY, gridZ, blockX, blockY, blockZ, "
    names = sorted(GRID)
    made = [
        (1000 * (i + 1), 1000 * (i + 1) + 700, process(i), call, node if with_nodes and node else None, names.index(name),
         GRID[name], 1, 1, 64, 1, 1, 7, 0)
        for i, (name, call, node) in enumerate(rows)
    ]  # fmt: skip
    random.Random(4).shuffle(made)
    strings = [(i, f"_Z{len(n)}{n}Pf") for i, n in enumerate(names)]
    return write_nsys_tables(path, f"{columns}streamId, deviceId", made, strings)


def kineto_profile(path, rows, with_nodes=True):
    events = []
    for i, (name, call, node) in enumerate(rows):
        about = {"correlation": call, "device": 0, "stream": 7, "grid": [GRID[name], 1, 1], "block": [64, 1, 1]}
        about |= {"graph node id": node} if with_nodes else {}
        events.append({"ph": "X", "cat": "kernel", "name": f"{name}(float*)", "ts": 10.0 * (i + 1), "dur": 7.5, "args": about})
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def run(*words):
    command("file expand")(args=[str(word) for word in words], standalone_mode=False)


@pytest.mark.parametrize("form", [sqlite_profile, kineto_profile])
@pytest.mark.parametrize("with_nodes", [True, False])
def test_the_list_repeats_each_node_as_often_as_its_graph_ran(decode, tmp_path, form, with_nodes):
    profile = form(tmp_path / "profile", program(), with_nodes=with_nodes)
    run(decode, "--profile", profile, "-o", tmp_path / "program")
    listed = read_trace_list(tmp_path / "program" / "kernelslist.g")
    assert [number - 1 for number in listed.numbers.tolist()] == EXPECTED
    assert listed.copies[0].tolist() == [[0, 0x7F3000000000, 4096]]
    assert len(read_trace_list(tmp_path / "program").traces) == EAGER + REPLAYS * len(NODES)


def test_a_list_beside_the_traces_needs_no_links(decode, tmp_path):
    profile = sqlite_profile(tmp_path / "p.sqlite", program(3))
    run(decode / "kernelslist.g", "--profile", profile, "-o", decode / "program.g")
    assert len(read_trace_list(decode / "program.g").traces) == EAGER + 3 * len(NODES)
    (decode / "program.g").unlink()
    with pytest.raises(ConfigError, match="another list in"):
        run(decode, "--profile", profile, "-o", tmp_path / "elsewhere.g")
    with pytest.raises(ConfigError, match="another list in"):
        run(decode, "--profile", profile, "-o", decode / "kernelslist.g")


def kinds(names):
    grid = np.array([[GRID[name], 1, 1] for name in names])
    return Program.of([f"_Z{len(name)}{name}Pf" for name in names], grid, np.ones_like(grid) * [64, 1, 1])


def profile_of(rows):
    builder = ProgramBuilder("made")
    for i, (name, call, node) in enumerate(rows):
        shape = (GRID[name], 1, 1), (64, 1, 1)
        builder.add(f"_Z{len(name)}{name}Pf", *shape, start=i + 1, duration=1.5, order=call, graph_node=node or -1)
    return builder.finish()


@pytest.mark.parametrize("with_nodes", [True, False])
def test_graphs_that_were_captured_in_another_order_than_they_ran_are_told_apart(with_nodes):
    small, large = ["norm", "qkv", "head"], ["norm", "qkv", "attention", "up", "head"]
    traced = ["load", *large, *small, "load"]  # captured before they serve, the largest first
    rows = [("load", 1, 0)]
    for call, (graph, first) in enumerate([(small, 11), (large, 21), (small, 11), (large, 21)], 2):
        rows += [(name, call, (first + n) if with_nodes else 0) for n, name in enumerate(graph)]
    rows.append(("load", 9, 0))
    repeated = repetition(profile_of(rows), kinds(traced))
    assert repeated.listed.tolist() == [0, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 9]
    assert not len(repeated.unused) and repeated.replays == 4


def test_nodes_on_parallel_branches_are_told_by_their_kinds_whatever_their_order():
    rows = [("load", 1, 0), ("norm", 2, 0), ("qkv", 2, 0), ("up", 2, 0), ("norm", 3, 0), ("up", 3, 0), ("qkv", 3, 0)]
    repeated = repetition(profile_of(rows), kinds(["load", "norm", "qkv", "up"]))
    assert repeated.listed.tolist() == [0, 1, 2, 3, 1, 3, 2]


def test_launches_that_were_not_traced_refuse_unless_they_are_accepted(decode, tmp_path):
    rows = program(3)
    rows.insert(3, ("head", 900, 0))
    rows.sort(key=lambda row: row[1])
    rows += [("embed", 5000 + i, 0) for i in range(4)]
    profile = sqlite_profile(tmp_path / "p.sqlite", rows)
    with pytest.raises(AdmissionError, match=r"not-traced: 5 of 89 launches"):
        run(decode, "--profile", profile, "-o", tmp_path / "program")
    run(decode, "--profile", profile, "-o", tmp_path / "program", "--accept", "not-traced")
    assert len(read_trace_list(tmp_path / "program").traces) == 84


def test_a_profile_of_two_processes_is_expanded_for_the_one_that_is_named_or_for_both_if_they_are_alike(decode, tmp_path):
    rows = program(2)
    both = [(name, call, node) for name, call, node in rows for _ in (0, 1)]
    profile = sqlite_profile(tmp_path / "ranks.sqlite", both, process=lambda i: (1 + i % 2) << 24)
    with pytest.raises(ConfigError, match=r"launches of 2 processes: .*--alike"):
        run(decode, "--profile", profile, "-o", tmp_path / "program")
    for words in (["--process", 1 << 24], ["--alike"]):
        run(decode, "--profile", profile, "-o", tmp_path / "program", *words)
        assert len(read_trace_list(tmp_path / "program").traces) == len(rows)
    unlike = sqlite_profile(tmp_path / "unlike.sqlite", [*both, *both[:9]], process=lambda i: (1 + i % 2) << 24)
    with pytest.raises(ConfigError, match="runs other launches than"):
        run(decode, "--profile", unlike, "-o", tmp_path / "program", "--alike", "--accept", "repeated-rows")


def test_a_decode_loop_is_sampled_inside_its_bound_on_the_embedded_host(decode, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(decode, "--profile", sqlite_profile(tmp_path / "p.sqlite", program()), "-o", tmp_path / "program")
    full = kp.simulate(tmp_path / "program", "full.kpjournal", "rtx", "all").ended()
    assert full.launches == EAGER + REPLAYS * len(NODES)
    for seed in range(3):
        budget = {"relative_error": 0.02}
        drawn = kp.simulate(tmp_path / "program", f"{seed}.kpjournal", "rtx", seed=seed, error_budget=budget).ended()
        assert abs(drawn.estimate - full.estimate) <= drawn.half_width, (seed, drawn.estimate, full.estimate)
        assert drawn.met and drawn.simulated < full.launches / 5


def test_a_selection_of_a_program_with_graphs_traces_nodes_and_estimates_all_launches(decode, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"kernel-{n}-ctx_0x1.trace.xz, _Z{len(name)}{name}Pf, {GRID[name]}, 1, 1, {GRID[name]}, 64, 1, 1, 64, 0,0"
            for n, name in enumerate(["load"] * EAGER + NODES, 1)]  # fmt: skip
    (tmp_path / "stats_ctx_0x1").write_text(CENSUS_HEAD + "\n".join(rows) + "\n")
    sqlite_profile(tmp_path / "p.sqlite", program())
    words = ["stats_ctx_0x1", "--profile", "p.sqlite", "-o", "drawn", "--relative-error", "0.05"]
    command("select")(args=words, standalone_mode=False)
    selection = Selection.load(tmp_path / "drawn" / "selection.kpselect")
    assert selection.program.size == len(EXPECTED) and selection.numbers.max() <= EAGER + len(NODES)
    assert (selection.program.numbers - 1).tolist() == EXPECTED
    assert "kernelpoint file expand" in (tmp_path / "drawn" / "trace.sh").read_text()
    traced = tmp_path / "traced"
    traced.mkdir()
    for number in selection.numbers.tolist():
        (traced / f"kernel-{number}.traceg").symlink_to(decode / f"kernel-{number}.traceg")
    (traced / "kernelslist.g").write_text("".join(f"kernel-{n}.traceg\n" for n in selection.numbers.tolist()))
    run(traced, "--selection", "drawn/selection.kpselect", "-o", "program")
    keys = {"selection": "drawn/selection.kpselect", "error_budget": {"relative_error": 0.05}}
    drawn = kp.simulate("program", "drawn.kpjournal", "rtx", log=print, **keys).ended()
    assert drawn.launches == len(EXPECTED)
    with pytest.raises(TraceError, match=r"kernelpoint file expand LIST --selection"):
        kp.simulate("traced", "other.kpjournal", "rtx", **keys)
