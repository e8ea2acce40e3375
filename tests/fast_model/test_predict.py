"""The model over a list: the very simulator of the embedded host, in this process, kept on disk."""

import csv
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from embedded_host import run_host
from workloads import synthesised

from kernelpoint.fast_model import predict, shipped
from kernelpoint.program import Program
from kernelpoint.simulators import simulator
from kernelpoint.traces import ArtefactCache, read_trace_list

LAUNCHES = 12


@pytest.fixture(scope="module")
def workload(tmp_path_factory):
    return synthesised(tmp_path_factory.mktemp("workload"), "graph-traversal", LAUNCHES)


class Model:
    """Predictions of one list, and what was said meanwhile."""

    def __init__(self, folder, workload):
        self.folder = folder
        self.list = read_trace_list(workload)
        self.said: list[str] = []
        self.runs = 0

    def __call__(self, paths=None, name="v100", fingerprint="list") -> Program:
        shown = []
        predicted = predict(
            self.list if paths is None else replace(self.list, traces=paths),
            shipped(name),
            self.said.append,
            ArtefactCache(self.folder, self.said.append),
            progress=lambda done, total, share: shown.append((done, total, share)),
            files=fingerprint,
        )
        self.runs += bool(shown)
        return predicted


@pytest.fixture
def model(tmp_path, workload):
    return Model(tmp_path / "predictions", workload)


def same(a: Program, b: Program) -> bool:
    first, second = a.predictions, b.predictions
    return all(np.array_equal(first[k], second[k], equal_nan=True) for k in first.keys() | second)


def lacking(program: Program) -> list[int]:
    """Launches without a prediction."""
    return np.flatnonzero(np.isnan(program.predictions["cycles"])).tolist()


@pytest.mark.parametrize("name", ["v100", "rtx"])
def test_predictions_are_what_the_embedded_host_simulates(model, workload, tmp_path, name):
    run_host(workload, tmp_path, None, "-config", name, "-results", "results.csv", check=True)
    rows = list(csv.DictReader((tmp_path / "results.csv").open()))
    program = model(name=name)
    assert program.size == len(rows) == LAUNCHES
    for counter, values in program.predictions.items():
        assert values.tolist() == [float(row[counter]) for row in rows], counter
    assert not lacking(program)


def test_a_list_is_run_once_for_each_configuration(model):
    first = model()
    assert same(first, model())
    assert model.runs == 1
    assert not same(first, model(name="rtx"))
    model(fingerprint="another list")
    assert model.runs == 3


def test_damaged_predictions_are_made_anew(model):
    first, file = model(), model.folder / "artefacts.sqlite"
    with sqlite3.connect(file) as cache:
        cache.execute("UPDATE artefacts SET value = x'00' WHERE kind LIKE 'predictions%'")
    cache.close()
    assert same(first, model())
    assert model.runs == 2
    assert "is damaged" in model.said[-1] or "is damaged" in model.said[-2]
    assert same(first, model())
    assert model.runs == 2


def test_a_folder_that_cannot_be_written_is_said_and_nothing_is_lost(model):
    model.folder.write_text("a file where a folder is to be")
    assert not lacking(model())
    assert any("nothing read from now on is remembered" in line for line in model.said)


def test_launches_without_a_trace_are_left_out_and_said(model):
    paths = ["" if launch in (2, 5) else path for launch, path in enumerate(model.list.traces)]
    program = model(paths)
    assert lacking(program) == [2, 5]
    assert any("nothing for 2 of 12 launches" in line for line in model.said)
    assert program.predictions["cycles"][:2].tolist() == model(fingerprint="whole").predictions["cycles"][:2].tolist()


def test_a_trace_that_cannot_be_read_costs_its_launch_only(model, tmp_path):
    broken = tmp_path / "kernel-1.traceg"
    broken.write_text("-kernel name = cut off\n")
    paths = [str(broken) if launch == 3 else path for launch, path in enumerate(model.list.traces)]
    program = model(paths)
    assert lacking(program) == [3]
    assert str(broken) in program.errors[3]
    assert any("could not simulate 1 launches" in line for line in model.said)
    assert model(paths).errors == program.errors  # kept on disk
    assert model.runs == 1


def test_copies_from_the_host_come_where_the_list_has_them(model):
    with_copies = model()
    (copies,) = model.list.copies
    base = np.uint64(min(copies[:, 1])) if len(copies) else np.uint64(0)
    everything = np.array([[0, base, 1 << 22]], dtype=np.uint64)
    model.list = replace(model.list, copies=(everything,))
    assert model().predictions["dram_reads"].sum() != with_copies.predictions["dram_reads"].sum()
    assert model.runs == 2


def test_an_error_in_progress_ends_the_run(model, workload):
    class Enough(Exception):
        pass

    def progress(done, total, share):
        raise Enough

    with pytest.raises(Enough):
        long = Program((200 * LAUNCHES,), traces=list(model.list.traces) * 200)
        predict(long, shipped("v100"), print, ArtefactCache(model.folder), progress)


FOREVER = """
import itertools, sys
from kernelpoint.fast_model import predict, shipped
from kernelpoint.simulators import simulator
from kernelpoint.traces import ArtefactCache, read_trace_list
found = read_trace_list(sys.argv[1])
print("begins", flush=True)
for name in itertools.count():
    predict(found, shipped("v100"), print, ArtefactCache(sys.argv[2]), files=str(name))
"""


def test_ctrl_c_ends_it(workload, tmp_path):
    command = [sys.executable, "-c", FOREVER, str(workload), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in stderr


class TestPredictions:
    """The table itself."""

    @pytest.fixture
    def table(self, model):
        return model()

    def test_accelsim_counts_stores_in_l1_and_calls_no_sector_on_its_way_a_hit(self, table):
        predictions = dict(table.predictions)
        terms = simulator("accelsim").counters_of(predictions, "-gpgpu_cache:dl1     S:4:128:64,L:T:m:L:L,A:512:8,16:0,32 # L1")
        assert np.array_equal(
            terms["l1_accesses"], predictions["l1_accesses"] + predictions["l1_global_writes"], equal_nan=True
        )
        hits = terms["l1_global_read_hits"] + terms["l1_global_reads_merged"]
        assert np.array_equal(terms["l1_global_reads"] - hits, predictions["l1_misses"], equal_nan=True)
        on_fill = simulator("accelsim").counters_of(predictions, "-gpgpu_cache:dl1  S:1:128:512,L:L:s:N:L,A:256:8")
        merged = terms["l1_misses"] + predictions["l1_global_reads_merged"]
        assert np.array_equal(on_fill["l1_misses"], merged, equal_nan=True)

    def test_cycles_of_sms_in_accelsim_are_those_after_the_latency_of_as_many_sms_as_there_are_ctas(self):
        predictions = {"cycles": np.array([5100.0, 5300.0, 4000.0]), "ctas": np.array([2.0, 500.0, 2.0])}
        options = "-gpgpu_n_clusters  40 # clusters\n-gpgpu_n_cores_per_cluster 2 #\n"
        terms = simulator("accelsim").counters_of(predictions, options, latency=5000)
        assert terms["sm_cycles"].tolist() == [200.0, 24000.0, 0.0]
        assert terms["active_cycles"].tolist() == [100.0, 300.0, 0.0]
        assert "sm_cycles" not in simulator("accelsim").counters_of(predictions)

    def test_a_simulator_without_terms_has_the_models_own_counters(self, table):
        assert set(simulator("another").counters_of(dict(table.predictions))) == set(table.predictions)
