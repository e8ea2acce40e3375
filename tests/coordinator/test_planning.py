"""A plan made by many workers is the plan that one process makes."""

import re
import socket
from dataclasses import asdict
from functools import partial

import numpy as np
import pytest

from kernelpoint.cli.host import program
from kernelpoint.encoder.embed import Task, embed_piece
from kernelpoint.errors import PlanError, SessionError, TraceError
from kernelpoint.fast_model import predict, shipped
from kernelpoint.planning.plan import Plan
from kernelpoint.pool import pieces_of
from kernelpoint.program import Program
from kernelpoint.traces import ArtefactCache, scan_launches

pytest.importorskip("distributed", reason="kernelpoint[cluster] is not installed")

import kernelpoint as kp
from kernelpoint.cli.plan import plan as plan_command
from kernelpoint.coordinator import dask_pool
from kernelpoint.coordinator.dask_pool import open_pool


@pytest.fixture(scope="module")
def pool():
    opened = open_pool(2, None, 0, lambda line: None)
    yield opened
    opened.close()


def content(plan: Plan) -> list:
    """Everything that a plan holds, as values that compare."""
    parts = {**vars(plan), **vars(plan.program), **vars(plan.program.read), **asdict(plan.design)}
    return [
        (name, value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) else (name, repr(value))
        for name, value in sorted(parts.items())
        if name not in ("design", "u", "program", "contents", "labels", "counters", "path") and not name.startswith("_")
    ]


@pytest.fixture
def planned(bench, monkeypatch):
    """Function that plans the solver with a cache of its own."""

    def plan(number: int, **options):
        monkeypatch.setenv("KERNELPOINT_CACHE", str(bench.folder / f"cache-{number}"))
        output = bench.folder / f"{number}.kpplan"
        plan_command(bench.traces, output, **options)
        units = len(kp.cluster(bench.traces, "random"))
        return content(Plan.load(output, Program((units,))))

    return plan


def test_a_plan_of_workers_is_that_of_one_process(planned):
    assert planned(1, workers=2) == planned(2)


@pytest.mark.skipif(not program().exists(), reason="the embedded host is not built")
def test_a_run_has_its_plan_made_by_its_workers(bench, monkeypatch):
    yaml = "policy: gcl\nerror_budget: {relative_error: 0.02}\nfast_model: off"
    done = []
    mapped = dask_pool.DaskPool.map
    monkeypatch.setattr(
        dask_pool.DaskPool, "map", lambda self, function, pieces: done.extend(pieces) or mapped(self, function, pieces)
    )
    bench.spread(yaml)
    spread = bench.take()
    assert done
    monkeypatch.setenv("KERNELPOINT_CACHE", str(bench.folder / "other"))
    alone = bench.alone(yaml)
    assert without_checksums(spread)[1:] == without_checksums(alone)[1:]  # of lines that begin with another cache's path


def without_checksums(journal):
    return re.sub(rb',"chain":"[0-9a-f]+"', b"", journal.replace(b"/cache/", b"/other/")).split(b"\n")


def test_traces_are_read_alike_by_workers_refused_ones_and_repeated_ones_too(bench, pool, tmp_path):
    sound = sorted(str(path) for path in bench.traces.glob("*.traceg*"))
    (tmp_path / "damaged.traceg").write_text("no trace")
    paths = [*sound, "damaged.traceg", sound[0], "missing.traceg"]
    logs: list = [[], []]
    tables = [
        scan_launches(paths, ArtefactCache(tmp_path / str(number)), log=logs[number].append, pool=pool)
        for number, pool in enumerate([None, pool])
    ]
    refused = {len(sound), len(sound) + 2}
    alone, other = ({key: repr(value) for key, value in vars(table).items()} for table in tables)
    assert alone == other and set(tables[0].errors) == refused and logs[0] == logs[1]


def test_predictions_of_traces_that_workers_read_are_those_of_one_process(bench, pool, tmp_path):
    paths = ["", *sorted(str(path) for path in bench.traces.glob("*.traceg")) * 2]
    expected, spread = (
        predict(
            Program((len(paths),), traces=paths),
            shipped("v100"),
            print,
            ArtefactCache(tmp_path / str(number)),
            pool=pool,
        ).predictions
        for number, pool in enumerate([None, pool])
    )
    assert spread.keys() == expected.keys()
    assert all(np.array_equal(spread[key], expected[key], equal_nan=True) for key in spread)


def test_a_worker_with_another_kernelpoint_is_named():
    with pytest.raises(
        SessionError, match=rf"{socket.gethostname()}: this worker has KernelPoint .*, the machine that made the plan has 9.9"
    ):
        dask_pool._checked("9.9", len, "a")


def test_what_a_piece_raises_ends_the_plan_with_its_own_message(pool, bench):
    (bench.folder / "empty.traceg").write_text("no trace")
    piece = partial(embed_piece, Task("builtin", kp_digest(), 20000))
    with pytest.raises(TraceError, match=r"empty.traceg"):
        list(pool.map(piece, [["empty.traceg"]]))
    with pytest.raises(PlanError, match=r"is not the one where the plan is made \(other\)"):
        list(pool.map(partial(embed_piece, Task("builtin", "other", 20000)), [["empty.traceg"]]))


def kp_digest() -> str:
    from kernelpoint.encoder import checkpoint_hash

    return checkpoint_hash()


def test_pieces_hold_every_item_once_in_order():
    weights = [5.0, 1.0, 7.0, 0.0, 0.0, 2.0, 2.0]
    pieces = pieces_of(weights, 4.0, 2)
    assert [i for piece in pieces for i in piece] == list(range(7))
    assert all(len(piece) <= 2 and (len(piece) == 1 or sum(weights[i] for i in piece) <= 4.0) for piece in pieces)
    assert pieces_of([], 1.0, 1) == []
