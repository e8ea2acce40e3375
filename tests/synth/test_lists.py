"""Lists of launches: repeats, counts, determinism, what each workload promises, and what the command refuses."""

import hashlib
import json
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accelsim_rules import Trace, check_list
from command_line import run_command

from kernelpoint import _native
from kernelpoint.errors import ConfigError
from kernelpoint.traces import fields_of, read_header, scan_trace
from kernelpoint_lab.synth.compose import compose, prepare
from kernelpoint_lab.synth.families import SCALES
from kernelpoint_lab.synth.launch import Launch, Memory
from kernelpoint_lab.synth.lists import HostCopy, Totals, write_list
from kernelpoint_lab.synth.sizes import parse_sizes
from kernelpoint_lab.synth.workloads import DEFAULT_LAUNCHES, WORKLOADS
from kernelpoint_lab.synth.workloads.training_step import ACCUMULATED, BATCHES, SHAPES, Model, sequence


def write(folder: Path, name: str, launches: int | None, seed: int = 0) -> tuple[Totals, dict[str, Any]]:
    request = compose(name, seed=seed, launches=launches)
    prepare(folder, force=False, version=3)
    totals = write_list(request.sequence, folder, request.launches, request.description)
    return totals, json.loads((folder / "workload.json").read_text())


def fingerprint(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def launches_of(name: str, count: int, seed: int = 0) -> list[Launch]:
    sequence = WORKLOADS[name].sequence(WORKLOADS[name].shapes["small"], seed)
    return list(islice((item for item in sequence if isinstance(item, Launch)), count))


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_list_holds_what_was_asked_for_and_its_traces_obey_the_rules(name: str, tmp_path: Path) -> None:
    totals, document = write(tmp_path, name, 45)
    kernels = [line for line in check_list(tmp_path) if line.startswith("kernel")]
    assert len(kernels) == totals.launches == len(document["sequence"]) == 45
    assert kernels == [document["launches"][i]["file"] for i in document["sequence"]]
    assert totals.files == len(set(kernels)) == len(list(tmp_path.glob("*.traceg"))) < 45
    assert totals.bytes == sum(path.stat().st_size for path in tmp_path.glob("*.traceg"))
    assert totals.warp_instructions == sum(document["launches"][i]["warp_instructions"] for i in document["sequence"])
    assert (document["name"], document["seed"]) == (name, 0)
    small = [launch for launch in document["launches"] if launch["bytes"] < 300_000][:4]
    assert small
    for launch in small:
        trace = Trace(tmp_path / launch["file"])
        assert len(trace.instructions()) == launch["warp_instructions"]
        assert trace.header["kernel name"] == launch["kernel"]


@pytest.mark.parametrize("name", [*WORKLOADS, "gather"])
def test_equal_arguments_give_equal_bytes_and_another_seed_other_ones(name: str, tmp_path: Path) -> None:
    launches = 6 if name in WORKLOADS else 1
    for folder, seed in (("first", 5), ("second", 5), ("other", 6)):
        write(tmp_path / folder, name, launches, seed)
    first, second, other = (fingerprint(tmp_path / folder) for folder in ("first", "second", "other"))
    assert first == second
    assert {n: h for n, h in first.items() if n != "workload.json"} != other


def test_equal_keys_mean_equal_traces_and_different_keys_different_ones(tmp_path: Path) -> None:
    write(tmp_path, "graph-traversal", 60)
    bodies = [path.read_text().split("\n", 2)[2] for path in tmp_path.glob("*.traceg")]
    assert len(set(bodies)) == len(bodies)
    first, second = launches_of("graph-traversal", 40), launches_of("graph-traversal", 40)
    assert [launch.key for launch in first] == [launch.key for launch in second]


def test_a_family_repeats_one_trace(tmp_path: Path) -> None:
    totals, _ = write(tmp_path, "copy", 7)
    assert (totals.launches, totals.files) == (7, 1)
    assert check_list(tmp_path) == ["kernel-1.traceg"] * 7


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("scale", SCALES)
def test_every_scale_exists_and_large_has_kernels_of_a_thousand_ctas(name: str, scale: str) -> None:
    items = list(islice(WORKLOADS[name].sequence(WORKLOADS[name].shapes[scale], 0), 120))
    assert any(isinstance(item, HostCopy) for item in items)
    if scale == "large":
        assert max(item.ctas for item in items if isinstance(item, Launch)) >= 1000


def test_the_default_decode_is_about_a_minute_of_simulation() -> None:
    assert DEFAULT_LAUNCHES == 3000
    launches = launches_of("transformer-decode", DEFAULT_LAUNCHES)
    assert 300 < len({launch.key for launch in launches}) < 1000


def test_attention_grows_with_the_position_until_the_request_ends() -> None:
    launches = [x for x in launches_of("transformer-decode", 3000) if x.family == "attention"]
    lengths = np.array([int(x.label.split("length=")[1]) for x in launches[::4]])
    steps = np.diff(lengths)
    assert ((steps == 1) | (steps < 0) | (steps > 1)).all() and (steps == 1).mean() > 0.85 and (steps != 1).any()


def test_frontiers_rise_and_fall() -> None:
    sizes = [int(x.label.split("=")[1]) for x in launches_of("graph-traversal", 25) if x.family == "bfs"]
    peak = int(np.argmax(sizes))
    assert sizes[0] == 1 and peak > 0 and max(sizes) > 500 and min(sizes[peak:]) < max(sizes) / 2


def test_solves_differ_in_their_iterations() -> None:
    kernels = [x.kernel for x in launches_of("iterative-solver", 4000)]
    starts = [i for i in range(1, len(kernels)) if kernels[i] == "copy_f32" and kernels[i - 1].startswith("spmv")]
    assert len(set(np.diff(starts).tolist())) > 3


def test_batches_differ_in_size() -> None:
    grids = {x.grid[2] for x in launches_of("cnn-inference", 2000) if x.family == "convolution"}
    assert grids == {1, 2, 4, 8}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": "nonsense"}, "no family or workload is called 'nonsense'; allowed: transformer-decode"),
    ({"name": "itertive-solver"}, "(did you mean iterative-solver?)"),
    ({"name": "copy", "scale": "tiny"}, "--scale is 'tiny'; allowed: small, medium, large"),
    ({"name": "copy", "seed": -1}, "--seed is -1"),
    ({"name": "cnn-inference", "launches": 0}, "--launches is 0; allowed: 1 to"),
    (
        {"name": "cnn-inference", "sizes": {"m": [3]}},
        "cnn-inference has no size named m; allowed: size, channels, batches",
    ),
    ({"name": "copy", "sizes": {"m": [3]}}, "copy has no size named m; allowed: n, block, width"),
    ({"name": "copy", "sizes": {"block": [33]}}, "block=33: allowed: 32 to 1024, a multiple of 32"),
    ({"name": "copy", "sizes": {"n": [1, 2]}}, "2 numbers given; allowed: 1"),
    ({"name": "reduction", "sizes": {"block": [32]}}, "block=32: allowed: 64 to 1024"),
    ({"name": "gemm", "sizes": {"width": [8]}}, "width=8: allowed: 2, 4"),
    ({"name": "gemm", "sizes": {"m": [1 << 20], "k": [1 << 20]}}, "below 4 GiB"),
    ({"name": "spmv", "sizes": {"rows": [0]}}, "rows=0: allowed: 1 to"),
    ({"name": "iterative-solver", "sizes": {"rows": [16]}}, "rows=16: allowed: 64 to"),
    ({"name": "transformer-decode", "sizes": {"prompts": [64, 32]}}, "each number larger than the one before it"),
    ({"name": "cnn-inference", "sizes": {"size": [20]}}, "size=20: each of 3 stages halves the image"),
    ({"name": "cnn-inference", "sizes": {"size": [8], "channels": [8, 8, 3]}}, "allowed: together a multiple of 16"),
    ({"name": "graph-traversal", "sizes": {"sources": [65]}}, "sources=65: allowed: 1 to 64"),
    ({"name": "training-step", "sizes": {"hidden": [40]}}, "hidden=40: allowed: 16 to 16384, a multiple of 16"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_bad_value_is_refused_with_what_is_allowed(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compose(**arguments)
    assert message in str(caught.value)


def test_a_folder_in_use_is_refused_without_force_and_only_our_files_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "kernel-9.traceg").write_text("old")
    with pytest.raises(ConfigError, match="not empty"):
        prepare(tmp_path, force=False, version=3)
    prepare(tmp_path, force=True, version=3)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(ConfigError, match="is a file"):
        prepare(tmp_path / "notes.txt", force=True, version=3)
    with pytest.raises(ConfigError, match="--tracer-version is 5; allowed with --format tracez: 6"):
        prepare(tmp_path / "new", force=True, version=5, ending="tracez")
    with pytest.raises(ConfigError, match="--tracer-version is 2"):
        prepare(tmp_path / "new", force=True, version=2)


def test_the_command_writes_lists_and_refuses(tmp_path: Path) -> None:
    done = run_command("lab", "synth", "gemv", "-o", tmp_path / "list", "--set", "rows=64", "--launches", "3")
    assert done.returncode == 0 and "3 launches of 1 traces" in done.stdout
    assert len(check_list(tmp_path / "list")) == 3
    again = run_command("lab", "synth", "gemv", "-o", tmp_path / "list")
    assert again.returncode == 1 and "not empty" in again.stderr and "Traceback" not in again.stderr
    packed = run_command("lab", "synth", "gemv", "-o", tmp_path / "packed", "--set", "rows=64", "--format", "tracez")
    assert packed.returncode == 0 and (tmp_path / "packed" / "kernelslist.g").read_text() == "kernel-1.tracez\n"
    assert read_header(tmp_path / "packed" / "kernel-1.tracez").tracer_version == 6
    listing = run_command("lab", "synth", "--list")
    assert all(name in listing.stdout for name in ("transformer-decode", "histogram", "heads 4 / 8 / 32", "rows of each mesh"))


SMALLEST: dict[str, dict[str, list[int]]] = {
    "transformer-decode": {"layers": [1], "heads": [1], "vocabulary": [32], "prompts": [1, 2], "generated": [1, 2]},
    "cnn-inference": {"size": [4], "channels": [16], "batches": [1]},
    "iterative-solver": {"rows": [64], "degree": [2]},
    "graph-traversal": {"vertices": [64], "sources": [64], "queries": [1], "degree": [2]},
    "training-step": {"layers": [1], "hidden": [16], "vocabulary": [16], "tokens": [16]},
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_size_of_a_workload_can_be_set_and_makes_it_smaller(name: str, tmp_path: Path) -> None:
    given = SMALLEST[name]
    assert set(given) == {field.name for field in fields(WORKLOADS[name].shapes["small"])}
    request = compose(name, launches=30, sizes=given)
    assert {k: list(v) for k, v in request.description["parameters"].items() if k != "scale"} == given  # type: ignore
    small = write_list(request.sequence, tmp_path, request.launches, request.description)
    assert small.launches == 30
    usual = sum(x.ctas * x.warps_per_cta for x in launches_of(name, 30))
    smaller = compose(name, launches=30, sizes=given).sequence
    assert sum(x.ctas * x.warps_per_cta for x in islice((x for x in smaller if isinstance(x, Launch)), 30)) < usual


@pytest.mark.parametrize("option", ["rows", "rows=", "rows=a", "rows=1;2"])
def test_a_size_that_is_no_number_is_refused(option: str) -> None:
    with pytest.raises(ConfigError, match=r"allowed: NAME=NUMBER"):
        parse_sizes([option])


SIZES = {"softmax": {"rows": [6], "columns": [45]}, "spmv": {"rows": [300]}}


def write_values(folder: Path, family: str, seed: int, values: int | None, ending: str = "traceg") -> Path:
    folder.mkdir()
    request = compose(family, seed=seed, sizes=SIZES.get(family, {}))
    write_list(request.sequence, folder, 1, request.description, 6, ending, values)
    return folder / f"kernel-1.{ending}"


@pytest.mark.parametrize("family", ["axpy", "softmax", "spmv"])
def test_operand_values_repeat_under_their_seed_and_leave_the_stream_as_it_is(family: str, tmp_path: Path) -> None:
    plain = write_values(tmp_path / "plain", family, 0, None)
    once, again, other = (write_values(tmp_path / str(i), family, 0, seed) for i, seed in enumerate((1, 1, 2)))
    assert once.read_bytes() == again.read_bytes() != other.read_bytes()
    scans = [scan_trace(path) for path in (plain, once, other)]
    assert len({scan.stream for scan in scans}) == 1 and fields_of(scans[0].work) == fields_of(scans[1].work)
    assert scans[0].values == "0" * 32 and len({scan.values for scan in scans}) == 3


def test_every_line_lists_a_value_for_each_operand_in_both_endings(tmp_path: Path) -> None:
    text, compressed = (write_values(tmp_path / e, "softmax", 0, 3, e) for e in ("traceg", "tracez"))
    for path in (text, compressed):
        for cta in _native.read_ctas(str(path), True):
            assert cta["operand_values"]["instruction"].tolist() == list(range(len(cta["instructions"])))
    assert scan_trace(text).values == scan_trace(compressed).values


def test_values_are_what_the_instructions_compute(tmp_path: Path) -> None:
    line = {}
    for row in write_values(tmp_path / "axpy", "axpy", 0, 3).read_text().splitlines():
        words = row.split()
        if "Val" in words:
            line.setdefault(words[4] if words[2] == "1" else words[3], words[words.index("Val") + 1 :])
    thread, index = line["S2R"], line["IMAD"]
    assert thread == ["1", "0x0"], "the first special register is the CTA's number"
    assert index[:4] == ["32", "0x0", "0x1", "0x2"]
    fields = [line["FFMA"][first + 1 : first + 33] for first in (0, 33, 66)]
    total, x, y = (np.array([int(v, 16) for v in field], np.uint32).view(np.float32) for field in fields)
    assert np.all(np.abs(np.stack([x, y])) <= 1) and x.std() > 0
    assert np.array_equal(total, x * y + np.float32(1)), "x is read before it is written"


@pytest.mark.parametrize("options", [["--format", "macsim"], ["--tracer-version", "5"]])
def test_values_are_refused_where_the_format_has_none(options: list[str], tmp_path: Path) -> None:
    done = run_command("lab", "synth", "axpy", "-o", tmp_path / "o", "--values", *options)
    assert done.returncode == 1 and "--values is given; it needs tracer version 6" in done.stderr
    assert not (tmp_path / "o").exists()


@pytest.fixture(scope="module")
def model():
    return Model(SHAPES["small"], Memory(), 0)


def launches(count):
    return list(islice((x for x in sequence(SHAPES["small"], 0) if isinstance(x, Launch)), count))


def test_epochs_repeat_their_batches_in_another_order():
    batches = [launch.key for launch in launches(1200) if launch.family == "gather"]
    assert len(set(batches)) == BATCHES
    assert batches[:BATCHES] != batches[BATCHES : 2 * BATCHES]


def test_the_optimiser_updates_every_matrix_once_for_several_batches(model):
    matrices = 2 * SHAPES["small"].layers + 1
    assert len(model.optimise) == 3 * matrices
    first = launches(ACCUMULATED * 2 * len(model.forward(0)) + len(model.backward(0)) * ACCUMULATED)
    norms = [launch for launch in first if launch.kernel.startswith("dot")]
    assert len(norms) >= matrices and len({launch.key for launch in norms}) == matrices


def test_batches_differ_in_length_and_a_longer_one_takes_more_ctas(model):
    lengths = [len(model.tokens(batch)) for batch in range(BATCHES)]
    assert len(set(lengths)) > 1
    first_of = {length: model.forward(lengths.index(length))[0].ctas for length in set(lengths)}
    assert [first_of[length] for length in sorted(first_of)] == sorted(set(first_of.values()))
