"""Every profiler's and simulator's file is read to the last digit."""

import io
import json
import sqlite3
import tracemalloc

import numpy as np
import pytest
from profiler_files import write_nsys_tables
from sealed_lines import journal_of

from kernelpoint.errors import ProfileError
from kernelpoint.journal import Outcome, PassRecord, RunRecord
from kernelpoint.journal.records import text_of
from kernelpoint.profiles import read_profile
from kernelpoint.profiles.formats import kineto

NSYS = """NOTICE: Existing SQLite export found: r.sqlite

Processing [r.sqlite] with [cuda_gpu_trace.py]...
Start ({t}),Duration ({t}),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name
{a},{da},120,,,,,,,,,,4.194,6337.6,Pinned,Device,NVIDIA A100 (0),1,,13,[CUDA memcpy Host-to-Device]
{b},{db},124,4096,1,1,256,1,1,16,0.001,0.002,,,,,NVIDIA A100 (0),1,,13,"void vectorAdd<float, (int)4>(float *, int)"
{c},{dc},123,8,2,1,128,1,1,32,0.000,0.000,,,,,NVIDIA A100 (0),1,,14,gemm
{c},{dc},130,,,,,,,,,,0.001,1.0,,Device,NVIDIA A100 (0),1,,13,[CUDA memset]
"""  # noqa: E501
NUMBERS = {"t": "ns", "a": 1000, "da": 10, "b": 5000, "db": 1500, "c": 2000, "dc": 2500}

NCU = """==PROF== Connected to process 1234
hello from the program
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","gpu__time_duration.sum","smsp__inst_executed.sum","launch__registers_per_thread","launch__func_cache_config","sm__cycles_elapsed.max","launch__shared_mem_per_block_static","launch__shared_mem_per_block_dynamic"
"","","","","","","","","","","","usecond","Kinst","register/thread","","cycle","byte/block","Kbyte/block"
"1","12","app","host","b(int)","1","7","(128, 1, 1)","(64, 2, 1)","0","8.0","2.50","1.5","32","CachePreferNone","3,000","512","1.00"
"0","12","app","host","a(float*)","1","7","(32, 1, 1)","(1, 1, 1)","0","8.0","1,000.00","0.25","16","CachePreferNone","900","0","0.00"
"""  # noqa: E501


def events(count=3):
    """A trace with CPU events between the kernels, as Kineto writes it."""
    made = [{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python [1]"}}]
    for i in range(count):
        made.append({"ph": "X", "cat": "cpu_op", "name": f"aten::op{i}", "pid": 1, "tid": 1, "ts": i, "dur": 5})
        about = {"device": 0, "stream": 7, "correlation": 100 + i, "registers per thread": 32, "shared memory": 1024,
                 "grid": [4, 1, 1 + i % 2], "block": [128, 1, 1], "est. achieved occupancy %": 0}  # fmt: skip
        made.append({"ph": "X", "cat": "kernel", "name": f"k{i % 2}<int>(int*)", "pid": 0, "tid": 7,
                     "ts": 1683564901553999 + 10 * i, "dur": 1.5 + i, "args": about})  # fmt: skip
    made.append({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {}})
    made.append({"ph": "s", "id": 1, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 1})
    return made


def trace(tmp_path, made, **more):
    path = tmp_path / "trace.json"
    path.write_text(
        json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A[1]"}], "traceEvents": made, **more})
    )
    return path


def test_nsys_trace_rows_become_launches_in_the_order_of_their_cuda_calls(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text(NSYS.format(**NUMBERS))
    profile = read_profile(path)
    assert [profile.names[i] for i in range(2)] == ["gemm", "void vectorAdd<float, (int)4>(float *, int)"]
    assert profile.start.tolist() == [2000, 5000] and profile.duration.tolist() == [2500.0, 1500.0]
    assert profile.grid.tolist() == [[8, 2, 1], [4096, 1, 1]] and profile.shared_memory.tolist() == [0, 3000]
    assert profile.left_out == {"memcpy": 1, "memset": 1}


@pytest.mark.parametrize(("unit", "factor"), [("us", 1e3), ("ms", 1e6), ("s", 1e9)])
def test_other_units_of_nsys_give_the_same_nanoseconds(tmp_path, unit, factor):
    path = tmp_path / "trace.csv"
    path.write_text(NSYS.format(t=unit, **{k: v / factor for k, v in NUMBERS.items() if k != "t"}))
    profile = read_profile(path)
    assert profile.start.tolist() == [2000, 5000]
    assert profile.duration == pytest.approx([2500.0, 1500.0], rel=1e-12)


def database(tmp_path, rows):
    columns = (
        "start, end, deviceId, streamId, correlationId, demangledName, mangledName, gridX, gridY, gridZ, blockX, blockY, "
        "blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory"
    )
    copies = "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER); INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1), (2);"
    names = [(1, "void a(int *)"), (2, "_Z1aPi"), (3, "b")]
    return write_nsys_tables(tmp_path / "report.sqlite", columns, rows, names, copies)


def test_the_sqlite_export_gives_mangled_names_where_it_has_them(tmp_path):
    rows = [
        (50, 80, 0, 7, 12, 1, 2, 4, 1, 1, 32, 1, 1, 16, 10, 20),
        (10, 30, 0, 7, 11, 3, None, 1, 1, 1, 64, 1, 1, 24, 0, 0),
    ]
    profile = read_profile(database(tmp_path, rows))
    assert [profile.names[i] for i in range(2)] == ["b", "_Z1aPi"]
    assert profile.duration.tolist() == [20.0, 30.0] and profile.shared_memory.tolist() == [0, 30]
    assert profile.left_out == {"memcpy": 2}


def test_launches_of_two_gpus_are_refused_until_one_is_named(tmp_path):
    rows = [(10 * d, 10 * d + 5, d, 7, d, 3, None, 1, 1, 1, 64, 1, 1, 24, 0, 0) for d in (0, 1)]
    path = database(tmp_path, rows)
    with pytest.raises(ProfileError, match="launches of several GPUs, 0, 1"):
        read_profile(path)
    assert read_profile(path, device=1).start.tolist() == [10]
    with pytest.raises(ProfileError, match="no launch of GPU 5"):
        read_profile(path, device=5)


def test_an_sqlite_file_whose_damaged_table_has_two_lines_in_its_name_is_one_line(tmp_path):
    path = tmp_path / "damaged.sqlite"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute('CREATE TABLE "String\nIds" (id)')
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_master SET sql = 'nothing'")
    connection.close()
    with pytest.raises(ProfileError, match="malformed database schema") as error:
        read_profile(path)
    assert "\n" not in str(error.value)


def test_ncu_metrics_come_in_base_units(tmp_path):
    path = tmp_path / "raw.csv"
    path.write_text(NCU)
    profile = read_profile(path)
    assert [profile.names[i] for i in range(2)] == ["a(float*)", "b(int)"]
    assert profile.duration.tolist() == [1_000_000.0, 2_500.0]
    assert profile.instructions.tolist() == [250.0, 1500.0]
    assert profile.counters["cycles"].tolist() == [900.0, 3000.0]
    assert profile.registers.tolist() == [16, 32] and profile.shared_memory.tolist() == [0, 1512]
    assert "launch__func_cache_config" not in profile.counters


def test_the_page_of_ncu_with_a_row_for_each_metric_gives_the_same_launches(tmp_path):
    head = '"ID","Process ID","Kernel Name","Block Size","Grid Size","Section Name","Metric Name","Metric Unit","Metric Value"'
    rows = [
        (1, "b(int)", "(64, 2, 1)", "Duration", "us", "2.50"),
        (1, "b(int)", "(64, 2, 1)", "Registers Per Thread", "register/thread", "32"),
        (1, "b(int)", "(64, 2, 1)", "Function Cache Configuration", "", "CachePreferNone"),
        (0, "a(float*)", "(1, 1, 1)", "Duration", "ms", "1.00"),
        (0, "a(float*)", "(1, 1, 1)", "Elapsed Cycles", "cycle", "1,234"),
    ]
    lines = [f'"{i}","12","{n}","(32, 1, 1)","{g}","Speed","{m}","{u}","{v}"' for i, n, g, m, u, v in rows]
    path = tmp_path / "details.csv"
    path.write_text("\n".join(["==PROF== Connected", head, *lines]) + "\n")
    profile = read_profile(path)
    assert [profile.names[i] for i in range(2)] == ["a(float*)", "b(int)"]
    assert profile.duration.tolist() == [1_000_000.0, 2_500.0] and profile.registers.tolist() == [-1, 32]
    assert profile.counters["cycles"][0] == 1234.0 and profile.grid.tolist() == [[1, 1, 1], [64, 2, 1]]


def test_kernels_of_a_pytorch_trace_are_read_and_copies_left_out(tmp_path):
    profile = read_profile(trace(tmp_path, events(), traceName="x"))
    assert [profile.names[i] for i in range(3)] == ["k0<int>(int*)", "k1<int>(int*)", "k0<int>(int*)"]
    assert profile.start.tolist() == [1683564901553999000 + 10_000 * i for i in range(3)]
    assert profile.duration.tolist() == [1500.0, 2500.0, 3500.0]
    assert profile.grid.tolist() == [[4, 1, 1], [4, 1, 2], [4, 1, 1]] and profile.left_out == {"memcpy": 1}


@pytest.mark.parametrize("chunk", [7, 64, 333, 1000])
def test_the_size_of_the_chunks_does_not_matter(tmp_path, monkeypatch, chunk):
    path = trace(tmp_path, events(20))
    whole = read_profile(path).hash()
    monkeypatch.setattr(kineto, "CHUNK", chunk)
    assert read_profile(path).hash() == whole


@pytest.mark.parametrize("cut", [1, 10, 50, 500, 1000])
def test_a_trace_that_ends_in_the_middle_is_refused(tmp_path, cut):
    path = trace(tmp_path, events(20))
    text = path.read_text()
    path.write_text(text[: len(text) - 2 - cut])
    with pytest.raises(ProfileError, match="ends"):
        read_profile(path)


def test_a_long_trace_is_read_in_little_memory():
    block = json.dumps(events(50))[1:-1]

    class Endless(io.TextIOBase):
        """A file of 6 MB that is never held whole."""

        remaining = 6_000_000

        def read(self, size=-1):
            if self.remaining == 6_000_000:
                self.remaining -= 1
                return '{"traceEvents": [' + block
            if self.remaining <= 0:
                return ""
            self.remaining -= len(block) + 1
            return "," + block if self.remaining > 0 else "]}"

    tracemalloc.start()
    profile = kineto.Kineto().read_text(Endless(), "long.json")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert profile.size > 4_800 and np.isfinite(profile.duration).all()
    assert peak < 6_000_000, f"peak of {peak:,} bytes for {profile.size:,} launches"


@pytest.mark.parametrize("args", ["null", "[1]", '{"registers per thread": null, "shared memory": "many"}'])
def test_a_kernel_of_a_pytorch_trace_with_odd_arguments_is_read(tmp_path, args):
    path = tmp_path / "trace.json"
    path.write_text(f'{{"traceEvents": [{{"ph": "X", "cat": "kernel", "name": "k", "ts": 1.5, "dur": 2, "args": {args}}}]}}')
    assert read_profile(path).registers.tolist() == [-1]


def accel_sim(launches):
    """Output of Accel-Sim on launches (uid, name, cycles, instructions), the noise included."""
    text = "Accel-Sim [build x]\n        *** GPGPU-Sim Simulator Version 4.2.0 ***\n-gpgpu_shmem_size   98304 # size\n"
    for uid, name, cycles, instructions in launches:
        text += (
            f"Processing kernel /somewhere/kernel-{uid}.traceg\n-kernel name = {name}\n-kernel id = {uid}\n"
            f"-grid dim = ({uid},2,1)\n-block dim = (128,1,1)\n-shmem = 64\n-nregs = 20\n-cuda stream id = 0\n"
            "-shmem base_addr = 0x00007fb057000000\n-local mem base_addr = 0x00007fb055000000\n"
            f"launching kernel name: {name} uid: {uid} cuda_stream_id: 0\n"
        )
        text += f"kernel_name = {name} \nkernel_launch_uid = {uid} \nkernel_stream_id = 0\ngpu_sim_cycle = {cycles}\n"
        text += f"gpu_sim_insn = {instructions}\ngpu_ipc =  1.5\ngpu_tot_sim_cycle = 1\n"
    return text


def write(tmp_path, text):
    path = tmp_path / "output.txt"
    path.write_text(text)
    return path


def test_accel_sim_output_gives_cycles_shapes_and_traces(tmp_path):
    profile = read_profile(write(tmp_path, accel_sim([(1, "_Z1av", 5610, 1726), (2, "b", 6027, 99)])))
    assert profile.time.tolist() == [5610.0, 6027.0] and profile.counters["instructions"].tolist() == [1726.0, 99.0]
    assert profile.grid.tolist() == [[1, 2, 1], [2, 2, 1]] and profile.registers.tolist() == [20, 20]
    assert profile.shared_memory.tolist() == [64, 64] and tuple(profile.traces) == (
        "kernel-1.traceg",
        "kernel-2.traceg",
    )


def journal(results, counts=(2, 1), tail=""):
    first = RunRecord(kernelpoint="x", config={}, bound="none", estimate="mean", launches=list(counts), hashes={})
    records = [first, PassRecord(0), *(Outcome(p, i, 0, {"cycles": float(c)}) for p, i, c in results)]
    return journal_of([text_of(record).encode() for record in records]).decode() + tail


def test_a_journal_of_a_full_run_gives_its_results_process_by_process(tmp_path):
    profile = read_profile(write(tmp_path, journal([(1, 0, 30), (0, 1, 20), (0, 0, 10)], tail='{"type":"resu')))
    assert profile.time.tolist() == [10.0, 20.0, 30.0]


def test_a_journal_of_a_sampled_run_is_refused(tmp_path):
    with pytest.raises(ProfileError, match="2 of 3 launches have results"):
        read_profile(write(tmp_path, journal([(0, 0, 10), (1, 0, 30)])))


def test_a_damaged_journal_is_refused_with_its_line(tmp_path):
    with pytest.raises(ProfileError, match=":3: the journal is damaged in this line: the line does not have its checksum"):
        read_profile(write(tmp_path, journal([]) + '{"type":"outcome","crc32":"00000000"}\n'))
