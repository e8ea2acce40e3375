"""`kernelpoint check` on damaged, incomplete or odd files: each is refused or named by its kind, or read right."""

import gzip
import json
import lzma
import random

import pytest
import typer
from profiler_files import CENSUS_HEAD, write_nsys_tables
from trace_writer import cta, numbered, small_trace

from kernelpoint.cli.check import check
from kernelpoint.profiles import read_profile

EXIT = "0030 ffffffff 0 EXIT 0 0"
LOAD = "0000 ffffffff 1 R1 LDG.E 1 R4 4 1 0x7f3000200000 4"
BARRIER = "0010 ffffffff 0 BAR.SYNC 0 0"
STORE = "0020 ffffffff 0 STG.E 2 R4 R2 4 1 0x7f3000300000 4"
WARP = [LOAD, BARRIER, STORE, EXIT]
GRID = "(2,1,1)"


def trace(*warps, ctas=("0,0,0", "1,0,0"), **fields):
    return small_trace("".join(cta(*(warps or (WARP, WARP)), index=index) for index in ctas), GRID, block="(64,1,1)", **fields)


SOUND = trace()
ROW = '"{i}","1","a","h","gemm","1","7","(128, 1, 1)","(64, 1, 1)","0","7.0","{value}"\n'
NCU = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",'
    '"gpu__time_duration.sum"\n'
)


def ncu(unit, *values):
    units = ",".join(['""'] * 11) + f',"{unit}"\n'
    return NCU + units + "".join(ROW.format(i=i, value=value) for i, value in enumerate(values))


GPU_TRACE = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
    "Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n"
)


def gpu_trace(*durations, name="gemm"):
    rows = enumerate(durations, 1)
    return GPU_TRACE + "".join(f"{10_000 * i},{d},{i},4,1,1,64,1,1,16,0,0,,,,,H100 (0),1,7,{name}\n" for i, d in rows)


ROCPROF = (
    "Kind,Agent_Id,Queue_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp,"
    "Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,Grid_Size_Z\n"
)


LONG = (
    '"ID","Process ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value","Rule Name"\n'
    '"{i}","1","gemm","(128, 1, 1)","{grid}","Duration","us","5.5",""\n'
    '"{i}","1","gemm","(128, 1, 1)","{grid}","","","","{rule}"\n'
)
NVPROF = (
    '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Device",'
    '"Stream","Name"\nms,us,,,,,,,,,,\n1.5,5.5,4,1,1,64,1,1,16,"V100 (0)","7","gemm(int) [12]"\n'
)
COLLECTION = (
    "Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Grid_Size,Kernel_Name,Workgroup_Size,LDS_Block_Size,VGPR_Count,Counter_Name,"
    "Counter_Value,Start_Timestamp,End_Timestamp\n"
    + "".join(f"{i},4,1,9,256,gemm,64,0,8,{c},5.0,{10_000 * i},{10_000 * i + 700}\n" for i in (1, 2) for c in ("A", "B"))
)
UNIFORM = "idx,name,grid,block,dur_us\n0,gemm,4x1x1,64x1x1,5.5\n{i},norm,4x1x1,64x1x1,6.5\n"
STATISTICS = "---\ngpu_sim_cycle\\s*=\\s*(.*)\nAPPS,QV100\nbfs/x--_Z1kv--1,600\nbfs/x--_Z1kv--2,700\n"


def macsim(lcm="1.0", clock="1.0", second=900):
    lines = "".join(
        f"src/process_manager.cc:1: (I=0  C={start}):   setup_process:0 /t/Kernel{i}/trace.txt current_index:{i} (2)\n"
        for i, start in enumerate((0, second))
    )
    end = "src/retire.cc:1 (I=0 C=1800): application 0 terminated\n"
    return f"src/macsim.cc:1: Clock LCM : {lcm}\nGPU clock frequency : {clock}\n{lines}{end}"


ROCPROF_V1 = "Index,KernelName,gpu-id,queue-id,pid,tid,grd,wgr,lds,BeginNs,EndNs\n" + "".join(
    f"{{{i}}},gemm,0,0,{p},1,256,64,0,{b},{b + 900}\n" for i, p, b in (("i", 1, 1000), ("n", 2, 5000))
)


def rocprof(*rows):
    """Of end, and of work items."""
    made = enumerate(rows, 1)
    return ROCPROF + "".join(
        f"KERNEL_DISPATCH,4,1,{i},9,gemm,{i},{10_000 * i},{end},64,1,1,{items},1,1\n" for i, (end, items) in made
    )


def kineto(*events, **changes):
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm"}
    kernels = [
        kernel | {"ts": 10.5 * i, "dur": 2.5, "args": {"correlation": i, "stream": 7, "grid": [4, 1, 1]}} for i in range(1, 21)
    ]
    for event in kernels[:5]:
        event.update({key: value for key, value in changes.items() if key != "args"})
        event["args"] = event["args"] | changes.get("args", {})
    return json.dumps({"traceEvents": [*kernels, *events]})


def graph_call(name, number=999):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "ts": 900.5, "dur": 2.5, "args": {"correlation": number}}


RESULT = (
    "Processing kernel ./kernel-{n}.traceg\n-kernel name = k\n-grid dim = (4,1,1)\n-block dim = (64,1,1)\n"
    "launching kernel name: k uid: {n}\nkernel_name = k\nkernel_launch_uid = {n}\ngpu_sim_cycle = 60{n}\ngpu_sim_insn = 9\n"
)
ENDED = "GPGPU-Sim: *** exit detected ***\n"


def output(*numbers):
    return "Accel-Sim [build 0]\n" + "".join(RESULT.format(n=n) for n in numbers) + ENDED


def launches(*numbers):
    return [graph_call("cudaLaunchKernel", number) for number in numbers]


def details(*metrics):
    """A page of ncu with a row for each metric (name, unit, value) of two launches, all rows of one metric before the next."""
    head = '"ID","Process ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"\n'
    row = '"{}","1","gemm","(128, 1, 1)","(64, 1, 1)","{}","{}","{}"\n'
    return head + "".join(row.format(i, *metric) for metric in metrics for i in (0, 1))


EVENTS = "Name,Start,Duration,GPU,Context\ngemm,1.5s,5.5us,GPU 0,Stream 7\ncudaLaunchKernel,1.4s,9.5us,,\n"
SUMMARY = "Time (%),Total Time (ns),Instances,Name\n100.0,1500,2,gemm\n"
CALLS_OF_ROCM = (
    "Domain,Function,Process_Id,Correlation_Id,Start_Timestamp,End_Timestamp\nHIP_RUNTIME_API,hipLaunchKernel,1,1,5,9\n"
)


def nsys(path, rows=((1, 0), (2, 0), (3, 0)), names=((1, "gemm"), (2, "cudaGraphLaunch_v10000")), calls=(), then=""):
    """An export of kernels (call, excess of the end) and of calls of graphs, or of the second name."""
    columns = "start, end, correlationId, streamId, demangledName, gridX, gridY, gridZ"
    kernels = [(10_000 * call, 10_000 * call + 700 + excess, call, 7, 1, 4, 1, 1) for call, excess in rows]
    runtime = "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, correlationId, nameId);"
    runtime += "".join(f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, {call}, 2);" for call in calls)
    write_nsys_tables(path, columns, kernels, names, runtime + then)


KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
LISTED = {f"kernel-{n}.traceg": numbered(SOUND, f"kernel-{n}") for n in range(1, 5)}
LINES = "".join(f"{name}\n" for name in LISTED)


def listed(text=LINES, **files):
    """A folder with a list, and files by name; a name of several words has _ for each sign that Python refuses."""
    return {**LISTED, "kernelslist.g": text, **files}


def fourth(text):
    return listed() | {"kernel-4.traceg": text}


# Name -> the files of a folder, what of it is checked, and a word of the finding or of the message.
FOLDERS = {
    "two ranks in one list": (
        {f"rank{r}/kernel-{n}.traceg": SOUND for r in (0, 1) for n in (1, 2)}
        | {"kernelslist.g": "".join(f"rank{r}/kernel-{n}.traceg\n" for n in (1, 2) for r in (0, 1))},
        "several-contexts",
    ),
    "two contexts, joined": (
        {f"kernel-{n}-ctx_0x{c}.traceg": SOUND for n in (1, 2) for c in "ab"}
        | {"kernelslist.g": "".join(f"kernel-{n}-ctx_0x{c}.traceg\n" for c in "ab" for n in (1, 2))},
        "several-contexts",
    ),
    "half of the traces unprocessed": (listed() | {f"kernel-{n}.trace": SOUND for n in (5, 6)}, "not-processed"),
    "the rest unprocessed and packed": (listed() | {"kernel-5-ctx_0x1.trace.xz": "x"}, "not-processed"),
    "a census with more launches": (
        listed() | {"stats.csv": CENSUS_HEAD + "".join(f"kernel-{n}.trace, k, 2,1,1,2,64,1,1,128,0,0\n" for n in range(1, 9))},
        "longer-census",
    ),
    "blanks before names": (listed(LINES.replace("kernel-3", "  kernel-3")), "names-not-read"),
    "names of another system": (listed(LINES.replace("kernel-", ".\\kernel-")), "expected a trace's name"),
    "collectives of several GPUs": (listed("ncclCommInitAll\n" + LINES + "ncclAllReduce\n"), "collectives: 2 lines"),
    "names above the folder": (listed(LINES.replace("kernel-", "../x/kernel-")), "refused"),
    "a list without launches": (listed("MemcpyHtoD,0x7f3000200000,4096\n"), "at least one line"),
    "a list of JSON": (listed('{"kernels": []}'), "at least one line"),
    "a trace that is missing": (listed(LINES + "kernel-9.traceg\n"), "does not exist"),
    "a trace of no bytes": (fourth(""), "unreadable"),
    "a trace cut in a line": (fourth(SOUND[:-40]), "unreadable"),
    "a byte order mark in a trace": (fourth("\ufeff" + SOUND), "unreadable"),
    "bytes of another encoding": (fourth(SOUND.replace("kernel name = ", "kernel name = gr\udcf6\udcdfe")), "unreadable"),
    "a packed trace that is cut": (
        listed(LINES.replace("4.traceg", "4.traceg.xz")) | {"kernel-4.traceg.xz": lzma.compress(SOUND.encode())[:-9]},
        "unreadable",
    ),
    "addresses in the first page": (fourth(SOUND.replace("0x7f3000200000", "0x40")), "zero-addresses"),
    "a copy below zero": (listed("MemcpyHtoD,0x10,-1\n" + LINES), "MemcpyHtoD,0x<address>"),
    "a list of two bytes a sign": (listed(LINES.encode("utf-16")), "at least one line"),
    "a list with line ends of old systems": (listed(LINES.replace("\n", "\r")), "the byte 0x0d"),
    "a list that is a table": (listed(LINES.replace("\n", ",\n")), "contains ','"),
    "two names on a line": (listed("kernel-1.traceg kernel-2.traceg\n"), "contains a space"),
    "a list cut in a name": (listed(LINES[:-4]), "does not exist"),
    "a trace that is a folder": (listed(LINES + "kernel-5.traceg\n") | {"kernel-5.traceg/x": "x"}, "does not exist"),
    "an opcode that nobody knows": (fourth(SOUND.replace("LDG.E", "WOMBAT.X")), "unknown-opcodes"),
    "more shared memory than a GPU has": (fourth(SOUND.replace("shmem = 0", "shmem = 99999999")), "impossible-sizes"),
    "more registers than a thread has": (fourth(SOUND.replace("nregs = 16", "nregs = 999")), "impossible-sizes"),
    "a trace twice in its file": (fourth(SOUND + SOUND), "unreadable"),
    "a page of the web": (fourth("<html><body>404 not found</body></html>"), "unreadable"),
    "junk behind a packed trace": (
        listed(LINES.replace("4.traceg", "4.traceg.xz")) | {"kernel-4.traceg.xz": lzma.compress(SOUND.encode()) + b"junkjunk"},
        "unreadable",
    ),
    "a list that names itself": (listed(LINES + "kernelslist.g\n"), "unreadable"),
    "a byte of zero in a name": (listed(LINES + "kernel-5\0.traceg\n"), "the byte 0x00"),
    "a copy beyond the end of memory": (listed("MemcpyHtoD,0xffffffffffffffff,18446744073709551615\n" + LINES), "MemcpyHtoD"),
    "a name of a megabyte": (listed("kernel-" + "1" * 1_000_000 + ".traceg\n"), "does not exist"),
    "a grid of all CTAs": (fourth(SOUND.replace(GRID, "(2147483647,65535,65535)")), "9223090559730712575 CTAs"),
    "a name that colours the terminal": (fourth(SOUND.replace("kernel name = ", "kernel name = \x1b[31m")), "printable text"),
    "a header line twice": (fourth(SOUND.replace("-nregs = 16", "-nregs = 16\n-nregs = 17")), "stands there twice"),
    "a load without an address": (fourth(SOUND.replace("R4 4 1 0x7f3000200000 4", "R4 0")), "zero-addresses"),
    "lines of a cluster without end": (
        fourth(SOUND.replace("block = 0,0,0\n", "block = 0,0,0\n" + 2 * "cluster rank = 0\n")),
        "each once in a CTA",
    ),
    "a list of MacSim that is cut": ({"kernel_config.txt": "nvbit\n"}, "a list begins with the lines nvbit, 14 and -1"),
    "a name of no letters": (fourth(trace(**{"kernel name": ""})), "no-name"),
    "a name of five megabytes": (fourth(SOUND.replace("kernel name = ", "kernel name = " + 5_000_000 * "x")), "a longer one"),
}  # fmt: skip
FILES = {
    "list.txt": ("MemcpyHtoD,0x7f3000200000,4096\nkernel-1.trace\n", "post-traces-processing"),
    "thousands.csv": (ncu("ns", "1.234.567", "2.345.678"), "1.234.567"),
    "points.csv": (ncu("ns", "1.234", "2.345"), "impossible-durations"),
    "apostrophes.csv": (ncu("ns", "1'234", "2'345"), "1'234"),
    "spaces.csv": (ncu("ns", "1\u202f234", "2\u202f345"), "gpu__time_duration.sum"),
    "commas.csv": (ncu("us", "5,45", "1,5"), "not between thousands"),
    "minutes.csv": (ncu("minute", "5.45", "1.5"), "unit of time 'minute'"),
    "graphs.csv": (
        gpu_trace(700, 800) + "90000,50000,9,,,,,,,,,,,,,,H100 (0),1,7,CUDA Graph 3\n",
        "graph-blocks",
    ),
    "latin.csv": (gpu_trace(700, 800, name="gr\udcf6\udcdfe"), "lost-letters"),
    "no-units.csv": (gpu_trace(700, 800).replace(" (ns)", ""), "unit of time ''"),
    "negative.csv": (gpu_trace(700, -800), "negative-durations"),
    "twice.csv": (gpu_trace(700, 800) + gpu_trace(700, 800), "expected a number"),
    "ends.csv": (rocprof((10_700, 256), (0, 256), (30_700, 256)), "negative-durations"),
    "hip-graphs.csv": (rocprof((10_700, 256), (20_700, 0), (30_700, 256)), "no-grid"),
    "a-call.json": (kineto(graph_call("cudaGraphLaunch_v10000")), "graph-blocks"),
    "no-calls.json": (kineto(args={"correlation": 0}), "no-call"),
    "no-grids.json": (kineto(args={"grid": [0, 0, 0]}), "no-grid"),
    "short.json": (kineto(dur=0.002), "impossible-durations"),
    "long.json": (kineto(dur=900.5), "overlapping-durations"),
    "cut.json.gz": (gzip.compress(kineto().encode())[:-30], "cut.json.gz"),
    "beginning-lost.txt": (output(3, 4, 5), "missing-results"),
    "middle-lost.txt": (output(1, 2, 5), "missing-results"),
    "no-cycles.txt": (output(1, 2, 3).replace("gpu_sim_cycle = 602\n", ""), "never finished"),
    "no-number.txt": (output(1, 2, 3).replace("602", "nan"), "expected a number"),
    "below-zero.txt": (output(1, 2, 3).replace("602", "-602"), "negative-durations"),
    "zero.txt": (output(1, 2, 3).replace("602", "0"), "zero-durations"),
    "killed.txt": (output(1, 2, 3).replace(ENDED, ""), "cut-output"),
    "empty": (b"", "no known profile"),
    "noise": (random.Random(1).randbytes(4000), "no known profile"),
    "a.png": (b"\x89PNG\r\n\x1a\n" + bytes(200), "no known profile"),
    "cut.csv.gz": (gzip.compress(gpu_trace(700).encode())[:40], "cut.csv.gz"),
    "other.sqlite": (b"SQLite format 3\0" + bytes(84), "cannot be read as an SQLite export"),
    "pointer": ("version https://git-lfs.github.com/spec/v1\nsize 9\n", "git lfs pull"),
    "report.qdrep": (b"\x7fQDSTRM\0" + bytes(range(256)), "nsys export"),
    "report.ncu-rep": (b"NVR\0" + bytes(range(256)), "ncu --import"),
    "error-first.csv": (
        "==ERROR== The application returned an error code (11).\n" + UNIFORM.format(i=1),
        "error code (11)",
    ),
    "limit.txt": (
        output(1, 2).replace("kernel_name", "GPGPU-Sim: ** break due to reaching the maximum cycles **\nkernel_name", 1),
        "limit-reached",
    ),
    "no-duration.json": (kineto(dur=float("nan")), "unknown-durations"),
    "no-times.csv": (ncu("ns", "n/a", "n/a"), "unknown-durations"),
    "infinite.csv": (ncu("ns", "inf", "1300"), "unknown-durations"),
    "ranges.csv": (LONG.format(i=0, grid="", rule=""), "no kernel launch"),
    "printed.csv": (ncu("ns", "1234") + "Epoch 1, loss 0.5\n", "2 fields, its header 12"),
    "appended.csv": (ncu("ns", "1234") + ncu("ns", "1234"), "up to three sizes"),
    "log.txt": ("==PROF== Connected to process 12\n==WARNING== No kernels were profiled.\n", "without a table"),
    "skipped.txt": ("SKIPPED: r.sqlite does not contain CUDA trace data.\n", "--trace=cuda"),
    "quote-open.csv": (gpu_trace(700, 800, 900).replace("gemm", '"gemm', 1), "unexpected end"),
    "quote-inside.csv": (gpu_trace(700, 800, name='"gemm"<int>'), "expected after"),
    "below-zero.csv": (gpu_trace(700, 800).replace(",4,1,1,", ",-4,1,1,"), "allowed: 0"),
    "parts.csv": (gpu_trace(700, 800).replace(",4,1,1,", ",4.5,1,1,"), "a whole number"),
    "beyond.csv": (gpu_trace(700, 800).replace(",4,1,1,", ",99999999999999999999,1,1,"), "4,294,967,296"),
    "two-gpus.csv": (gpu_trace(700, 800).replace("(0)", "(1)", 1), "GPUs, 0, 1"),
    "nul.csv": (gpu_trace(700, name="ge\0mm"), "lost-letters"),
    "cut-row.csv": (gpu_trace(700, 800)[:-3], "cut-row: the last row has no line end (the first: "),
    "graph-of-ncu.csv": (ncu("ns", "1234", "1300").replace('"(64, 1, 1)"', '""', 1).replace("gemm", "graph", 1), "graph-b"),
    "range-of-ncu.csv": (ncu("ns", "1234", "1300").replace('"(64, 1, 1)"', '""', 1), "rows-left-out: 1 of 2 rows"),
    "centuries.csv": (UNIFORM.format(i=1).replace("5.5", "5.5e15"), "impossible-durations: 1 of 2"),
    "calls-and-kernels.csv": ("Count,QCount,API Name,Kernel Name\n2,2,cudaLaunchKernel,k\n", "a summary has one row"),
    "lines-of-code.csv": ('"#","Address","Source","# Samples"\n"0","0x7f","MOV R1","4"\n', "not of kernels; export `ncu"),
    "copies-rocprof.csv": ("Kind,Direction,Start_Timestamp,End_Timestamp\nMEMORY_COPY,HOST_TO_DEVICE,5,9\n", "not of kernels"),
    "copies.csv": (GPU_TRACE + "9,5,9,,,,,,,,,,,,,,H100 (0),1,7,[CUDA memcpy Host-to-Device]\n", "1 x memcpy"),
    "wide.csv": (gpu_trace(700, 800).encode("utf-32"), "no known profile"),
    "short-rows.csv": (ROCPROF + "KERNEL_DISPATCH,4,1,1,9,gemm\n", "6 fields, its header 15"),
    "no-unit-line.csv": (NVPROF.replace("ms,us,,,,,,,,,,\n", ""), "unit of time ''"),
    "no-unit-line-of-ncu.csv": (NCU + ROW.format(i=0, value="1234"), "unit of time ''"),
    "no-name-column.csv": (gpu_trace(700).replace("Name", "Kernel"), "lacks the column 'name'"),
    "beyond-clocks.csv": (gpu_trace(700).replace("\n10000,", "\n1" + 22 * "0" + ","), "needs more than 64 bits"),
    "no-values.csv": ('"ID","Process ID","Kernel Name","Metric Name"\n"0","1","k","Duration"\n', "but not 'metric value'"),
    "shape.csv": (UNIFORM.format(i=1).replace("4x1x1", "4xtwo", 1), "shape.csv:2: expected a shape of up to three sizes"),
    "ten.csv": (UNIFORM.format(i=1).replace("6.5", "ten"), "ten.csv:3: expected a number, got 'ten'"),
    "fewer.csv": (UNIFORM.format(i=1) + "4,a,1x1x1\n", "fewer.csv:4: this row has 3 fields, its header 5"),
    "other.csv": ("alpha,beta\n1,2\n", "no known profile (it begins 'alpha,beta'"),
    "header.csv": (UNIFORM.partition("\n")[0] + "\n", "the file has no kernel launch"),
    "sampled.txt": (output(1) + "kernelpoint_skipped = 3\n", "sampled run"),
    "killed-macsim.txt": (macsim().partition("src/retire")[0], "not complete"),
    "longer-macsim.txt": (macsim().replace("(2)", "(3)"), "not complete"),
    "soon.json": (kineto(ts="soon"), "expected numbers ts and dur"),
    "gap-ncu.csv": (ncu("ns", "1234", "1300").replace('"1","1","a"', '"9","1","a"'), "gaps: 8 of 10"),
    "gap-rocprof.csv": (rocprof((10_700, 256), (20_700, 256)).replace("4,1,2,9", "4,1,7,9"), "gaps: 5 of 7"),
    "gap-rocprof-v1.csv": (ROCPROF_V1.format(i=0, n=5), "gaps: 4 of 6"),
    "gap-uniform.csv": (UNIFORM.format(i=7), "gaps: 6 of 8"),
    "dispatch-twice.csv": (rocprof((10_700, 256), (20_700, 256)).replace("4,1,2,9", "4,1,1,9"), "several-runs"),
    "start-lost.csv": (rocprof((10_700, 256)).replace(",10000,", ",0,"), "unknown-durations"),
    "metric-twice.csv": (COLLECTION.replace(",B,", ",A,").replace(",5.0,", ",6.0,", 1), "several-runs"),
    "no-duration.csv": (gpu_trace(700, "", 900), "unknown-durations: 1 of 3"),
    "two-reports.csv": (gpu_trace(700) + "\n" + SUMMARY, "give one table"),
    "calls-nsys.csv": ("Start (ns),Duration (ns),Name,Result,CorrID\n1,2,cudaFree,0,1\n", "a table of calls"),
    "calls-rocprof.csv": (CALLS_OF_ROCM, "a table of calls"),
    "summary-ncu.csv": ('"Kernel Name","Invocations","Metric Name","Average"\n"gemm","5","Duration","1.5"\n', "a summary"),
    "lost.json": (kineto(*launches(*range(1, 41))), "lost-kernels: 20 of 40 calls"),
    "ranks.json": (kineto(*launches(*range(1, 21), *range(1, 21))), "several-runs"),
    "begin-and-end.json": (kineto(ph="B"), "an event of phase 'B'"),
    "async.json": (kineto(ph="b"), "an event of phase 'b'"),
    "one-node.json": (kineto(args={"graph node id": 7}), "graph-replays: 5 of 20"),
    "rocprofv3.json": ('{"rocprofiler-sdk-tool": []}', "as CSV"),
    "together.txt": (output(1, "1 2 "), "launches 1 2 ended together"),
    "other-tool.json": ('{"traceEvents": [{"ph": "X", "name": "fusion", "ts": 1, "dur": 2}]}', "1 x without a category"),
    "nameless-results.csv": ("launch_index,cycles\n0,500\n1,500\n", "no-name: 2 of 2"),
    "two-outputs.txt": (output(1, 2) + output(3, 4), "several-runs"),
    "killed-then-again.txt": (output(1, 2).replace(ENDED, "") + output(3, 4), "several-runs"),
    "index-lost.txt": (macsim().replace("current_index:1", "current_index:5"), "not complete"),
    "signal.csv": (NVPROF + "======== Error: Application received signal 139\n", "profiler-errors"),
    "number-twice.csv": (UNIFORM.format(i=0), "several-runs"),
    "number-below-zero.csv": (UNIFORM.format(i=-1), "idx: got '-1'; allowed: a whole number, 0 or more"),
    "no-number.csv": (UNIFORM.format(i=""), "idx: got ''"),
    "id-twice.csv": (ncu("ns", "1234", "1300").replace('"1","1","a"', '"0","1","a"'), "several-runs"),
    "id-below-zero.csv": (LONG.format(i=-5, grid="(64, 1, 1)", rule=""), "id: got '-5'"),
    "call-below-zero.csv": (gpu_trace(700, 800).replace(",700,1,", ",700,-1,"), "corrid: got '-1'"),
    "no-names.csv": (UNIFORM.format(i=1).replace("gemm", "").replace("norm", " "), "no-name: 2 of 2"),
    "no-names-nsys.csv": (gpu_trace(700, 800, name=""), "no-name: 2 of 2"),
    "no-name-ncu.csv": (ncu("ns", "1234", "1300").replace('"gemm"', '""'), "no-name"),
    "flat.csv": (UNIFORM.format(i=1).replace(",4x1x1", ",0x4x1"), "impossible-sizes: 2 of 2"),
    "flat-block.csv": (UNIFORM.format(i=1).replace("64x1x1", "0x1x1"), "impossible-sizes"),
    "large-block.csv": (UNIFORM.format(i=1).replace("64x1x1", "64x64x1"), "impossible-sizes"),
    "flat-nsys.csv": (gpu_trace(700, 800).replace(",4,1,1,", ",0,4,1,"), "impossible-sizes"),
    "flat-rocprof.csv": (rocprof((10_700, 256)).replace(",64,1,1,", ",0,1,1,"), "impossible-sizes"),
    "flat-block.json": (kineto(args={"block": [0, 1, 1]}), "impossible-sizes"),
    "many-registers.csv": (
        UNIFORM.format(i=1).replace("dur_us", "dur_us,regs").replace(".5\n", ".5,70000\n"),
        "impossible-sizes",
    ),
    "much-memory.csv": (
        UNIFORM.format(i=1).replace("dur_us", "dur_us,smem").replace(".5\n", ".5,99999999999\n"),
        "impossible-sizes",
    ),
    "underscores.csv": (UNIFORM.format(i=1).replace(",4x", ",4_0x"), "up to three sizes"),
    "underscore.csv": (UNIFORM.format(i=1).replace("5.5", "5_000"), "expected a number"),
    "two-durations.csv": (
        UNIFORM.format(i=1).replace("dur_us", "dur_us,dur_us").replace(".5\n", ".5,9.5\n"),
        "'dur_us' stands in the header twice",
    ),
    "before-zero.csv": (gpu_trace(700, 800).replace("\n10000,", "\n-10000,"), "negative-durations"),
    "before-zero.json": (kineto(ts=-100.5), "negative-durations"),
    "half-cycle.csv": ("launch_index,kernel_name,cycles\n0,a,0.5\n1,a,500\n", "impossible-counters"),
    "misses-below-zero.csv": ("launch_index,kernel_name,cycles,misses\n0,a,9,-3\n1,a,9,4\n", "impossible-counters"),
    "index-below-zero.csv": ("launch_index,kernel_name,cycles\n-1,a,9\n1,a,9\n", "launch_index: got '-1'"),
    "no-instructions.txt": (output(1, 2).replace("insn = 9", "insn = 0"), "impossible-counters"),
    "instructions-below-zero.txt": (output(1, 2).replace("insn = 9", "insn = -9"), "impossible-counters"),
    "flat.txt": (output(1, 2).replace("(4,1,1)", "(0,4,1)"), "impossible-sizes"),
    "no-names.txt": (output(1, 2).replace("kernel_name = k", "kernel_name = "), "no-name"),
    "mixed-outputs.txt": (output(1, 2).replace("cycle = 601", "cycle = 601\ngpu_sim_cycle = 999"), "several-runs"),
    "endless-clock.txt": (macsim(lcm="inf"), "Clock LCM: expected a number, got 'inf'"),
    "clock-below-zero.txt": (macsim(clock="-1.0"), "GPU clock frequency -1"),
    "result-twice.csv": ("launch_index,kernel_name,cycles\n0,a,500\n0,a,500\n", "several-runs"),
    "run.kpplan": (b"PK\x03\x04" + b"Accel-Sim", "a zip archive, as KernelPoint's plans"),
    "trace.parquet": (b"PAR1" + bytes(50), "a Parquet file"),
    "trace.bz2": (b"BZh91AY&SY" + bytes(50), "unpack it"),
    "twice.gz": (gzip.compress(gzip.compress(kineto().encode())), "unpack it"),
    "junk.gz": (gzip.compress(kineto().encode()) + b"junk", "gzip"),
    "page.json": ("<html><head><title>Sign in</title>", "a login"),
    "ends-before.json": (kineto(dur=-2.5), "negative-durations"),
    "never.json": (kineto(ts=float("nan")), "unknown-durations"),
    "beyond.json": (kineto(ts=1e300), "more than 64 bits"),
    "lines-of.json": (json.dumps({"ph": "X"}) + "\n" + json.dumps({"ph": "X"}), "no list of traceEvents"),
    "null.json": (kineto().replace("[", 'null, "rest": [', 1), "no list of traceEvents"),
    "joined.json": (kineto() + kineto(), "a second list"),
    "backslash.json": (kineto(name="torch@cuda").replace("@", "\\"), "damaged inside an event"),
    "no-kernels.json": (
        '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "mm", "ts": 1, "dur": 2}]}',
        "no kernel launch",
    ),
    "doubled.json": (kineto(*json.loads(kineto())["traceEvents"]), "repeated-rows"),
    "low.json": (kineto(args={"grid": [-4, 1, 1]}), "allowed: 0"),
    "deadlock.txt": (
        output(1, 2).replace(ENDED, "GPGPU-Sim uArch: ERROR ** deadlock detected\n" + ENDED),
        "profiler-errors",
    ),
    "no-header.txt": (output(1, 2).replace("Processing kernel ./kernel-2.traceg\n", ""), "no-grid"),
    "two-runs.txt": (output(1, 2) + output(1, 2), "several-runs"),
    "ranks.txt": (output(1, 2).replace("\n", "\n[1,0]<stdout>:"), "no kernel launch"),
    "registers.txt": (output(1, 2).replace("-grid dim", "-nregs = many\n-grid dim"), "impossible value"),
    "centuries.txt": (output(1, 2).replace("601", "9" * 40), "impossible-durations"),
    "no-clock.txt": (macsim(lcm="0"), "Clock LCM 0"),
    "backwards.txt": (macsim(second=9000), "negative-durations"),
    "joined.txt": (macsim() + macsim(), "not complete"),
    "lost-result.csv": (STATISTICS.replace("700", "NA"), "unknown-durations"),
    "lost-results.csv": (STATISTICS.replace("600", "NA").replace("700", "NA"), "unknown-durations"),
    "gap-in-statistics.csv": (STATISTICS.replace("--2,", "--4,"), "missing-results: 2 of 4"),
    "text-in-statistics.csv": (STATISTICS.replace("700", "many"), "gpu_sim_cycle: expected a number, got 'many'"),
    "second-result.csv": (STATISTICS + "bfs/x--_Z1kv--2,800\n", "several-runs"),
    "applications.csv": (STATISTICS + "nn/x--_Z1kv--1,800\n", "give the results of one"),
    "kernel-1.trace": (SOUND, "not-processed"),
    "uid-text.txt": (output("two"), "uid-text.txt:8: kernel_launch_uid: expected a number, got 'two'"),
    "uid-zero.txt": (output(0), "allowed: 1 or more"),
    "uid-beyond.txt": (output(10**15), "missing-results"),
    "gap.csv": ("launch_index,trace,kernel_name,cycles\n0,a,k,500\n7,a,k,500\n", "missing-results"),
    "no-text.json": (kineto(name=["gemm"]), "no name"),
    "truth.json": (kineto(name=True), "no name"),
    "deep.json": ('{"traceEvents": ' + 200_000 * "[", "impossible value"),
    "long-event.json": ('{"traceEvents": [{"name": "' + 70_000_000 * "x", "damaged inside an event"),
    "hash.json": (kineto(args={"grid": {"x": 1}}), "up to three sizes"),
    "stream.json": (kineto(args={"stream": 50 * "9"}), "more than 64 bits"),
    "numbers.csv": (UNIFORM.format(i=10**40), "impossible value"),
    "long-field.csv": (UNIFORM.format(i=1).replace("norm", 300_000 * "k"), "field limit"),
    "chakra-cut": (b"\x07\n\x050.0.4\xff\xff\xff\xff\x0f", "it should have 4,294,967,295 bytes"),
    "other-version": ('{"type":"run","version":1}\n', "has format version 1, but"),
    "kernel_names.txt": ("Kernel0 name: k\n  Grid size: (0, 1, 1), Block size: (64, 1, 1)\n", "must be 1 or more"),
    "stats_ctx_0x3": (CENSUS_HEAD + "kernel-1-ctx_0x3.trace, k, 2,1,1,9,64,1,1,128,0,0\n", "the row is damaged"),
    "stats_ctx_0x2": (CENSUS_HEAD + "kernel-1-ctx_0x2.trace, k, 2,1,1\n", "10 numbers"),
    "stats_ctx_0x1": (CENSUS_HEAD + "kernel-2-ctx_0x1.trace, k, 2,1,1,2,64,1,1,128,0,0\n", "expected kernel-1"),
}
LAUNCH = ((1, "gemm"), (2, "cudaLaunchKernel_v7000"))
DIAGNOSTIC = "CREATE TABLE DIAGNOSTIC_EVENT(text); INSERT INTO DIAGNOSTIC_EVENT VALUES ('{}');"
EXPORTS = {
    "lost.sqlite": ({"names": LAUNCH, "calls": (1, 2, 3, 4)}, "lost-kernels: 1 of 4 calls"),
    "diagnostic.sqlite": ({"then": DIAGNOSTIC.format("Not all CUDA events might have been collected.")}, "profiler-errors"),
    "dropped.sqlite": ({"then": DIAGNOSTIC.format("CUPTI dropped 12 records.")}, "profiler-errors"),
    "replays-of-one-node.sqlite": (
        {"then": f"ALTER TABLE {KERNELS} ADD COLUMN graphNodeId INT; UPDATE {KERNELS} SET graphNodeId = 7"},
        "graph-replays: 3 of 3 launches are nodes of CUDA graphs, in 3 replays",
    ),
    "replays.sqlite": ({"calls": (1, 900, 901)}, "graph-blocks"),
    "no-names.sqlite": ({"names": ((2, "cudaGraphLaunch_v10000"),)}, "StringIds lacks"),
    "overlaps.sqlite": ({"rows": ((1, 90_000), (2, 90_000), (3, 0))}, "overlapping-durations"),
    "backwards.sqlite": ({"rows": ((1, -900), (2, 0), (3, 0))}, "negative-durations"),
    "empty.sqlite": ({"rows": ()}, "no kernel launch"),
    "nameless.sqlite": ({"names": ((1, None),)}, "StringIds lacks"),
    "bytes.sqlite": ({"names": ((1, b"\xff\xfe"),)}, "StringIds lacks"),
    "letters.sqlite": ({"then": "UPDATE StringIds SET value = CAST(x'fffe41' AS TEXT)"}, "lost-letters"),
    "no-start.sqlite": ({"then": f"UPDATE {KERNELS} SET start = NULL"}, "expected integers"),
    "no-end.sqlite": ({"then": f"UPDATE {KERNELS} SET end = NULL WHERE correlationId = 2"}, "unknown-durations"),
    "low.sqlite": ({"then": f"UPDATE {KERNELS} SET gridX = -4"}, "allowed: 0"),
    "doubled.sqlite": ({"then": f"INSERT INTO {KERNELS} SELECT * FROM {KERNELS}"}, "repeated-rows"),
    "nvprof.sqlite": ({"then": f"ALTER TABLE {KERNELS} RENAME TO OTHERS; CREATE TABLE StringTable(value)"}, "nvprof"),
}
# Odd files that are read: name -> content, name of the first launch, durations or cycles.
READ = {
    "apart.csv": (details(("Duration", "us", "5.5"), ("Elapsed Cycles", "cycle", "7,700")), "gemm", [5500, 5500]),
    "old-raw-page.csv": (
        NCU.replace('"Block Size","Grid Size","Device","CC",', '"launch__block_size","launch__grid_size",')
        + ",".join(['""'] * 9)
        + ',"usecond"\n'
        + '"0","1","a","h","gemm","1","7","128","64","5.5"\n',
        "gemm",
        [5500],
    ),
    "old-details.csv": (
        details(("Duration", "usecond", "5.5"), ("Block Size", "", "128"), ("Grid Size", "", "64"))
        .replace('"(128, 1, 1)","(64, 1, 1)",', "")
        .replace('"Block Size","Grid Size",', "", 1),
        "gemm",
        [5500, 5500],
    ),
    "events.csv": (EVENTS, "gemm", [5500]),
    "summary-first.csv": (SUMMARY + "\n" + gpu_trace(700, 800), "gemm", [700, 800]),
    "captured.json": (kineto(*launches(*range(1, 41)), graph_call("cudaStreamBeginCapture", 50)), "gemm", [2500] * 20),
    "all-calls.json": (kineto(*launches(*range(1, 21))), "gemm", [2500] * 20),
    "windows.csv": (gpu_trace(700, 800).replace("\n", "\r\n"), "gemm", [700, 800]),
    "utf16.csv": (gpu_trace(700, 800).encode("utf-16"), "gemm", [700, 800]),
    "mark.csv": (gpu_trace(700, 800).encode("utf-8-sig"), "gemm", [700, 800]),
    "log.csv": ("==PROF== Connected to process 11\n" + UNIFORM.format(i=1), "gemm", [5500, 6500]),
    "average.csv": (ncu("ns", "1234").replace("duration.sum", "duration.avg"), "gemm", [1234]),
    "talkative.csv": ("Epoch 1, loss\n" * 30_000 + ncu("ns", "1234"), "gemm", [1234]),
    "colon.txt": (output(1, 2).replace("Processing kernel ", "Processing kernel: "), "k", [601, 602]),
    "tabs.tsv": (gpu_trace(700, 800).replace(",", "\t"), "gemm", [700, 800]),
    "excel.csv": ("sep=,\n" + gpu_trace(700, 800), "gemm", [700, 800]),
    "line-in-name.csv": (gpu_trace(700, name='"gemm\n<4>"'), "gemm <4>", [700]),
    "no-dispatch.csv": (
        rocprof((20_700, 256), (10_900, 256), (30_700, 256))
        .replace("20000,10900", "10000,10900")
        .replace("10000,20700", "20000,20700")
        .replace("Dispatch_Id", "Thread_Id")
        .replace(",1,1,9,gemm,1,", ",1,8,9,gemm,2,")
        .replace(",1,2,9,gemm,2,", ",1,8,9,gemm,1,"),
        "gemm",
        [900, 700, 700],
    ),
    "quotes.csv": (rocprof((10_700, 256)).replace("gemm", '"gemm<""a"", 1>"'), 'gemm<"a", 1>', [700]),
    "one-more.csv": (
        rocprof((10_700, 256)).replace("End_Timestamp", "End_Timestamp,Duration_ns").replace("10700,", "10700,700,"),
        "gemm",
        [700],
    ),
    "exponent.csv": (ncu("ns", "1.2e+03"), "gemm", [1200]),
    "warning.csv": (
        ncu("ns", "1234") + "==WARNING== Launching takes long.\n" + ROW.format(i=1, value="1300"),
        "gemm",
        [1234, 1300],
    ),
    "rules.csv": (LONG.format(i=0, grid="(64, 1, 1)", rule='It has a ""quote""'), "gemm", [5500]),
    "managed.csv": (
        gpu_trace(700) + "9,5,9,,,,,,,,,,,,,,H100 (0),1,7,[CUDA Unified Memory memcpy HtoD]\n",
        "gemm",
        [700],
    ),
    "flows.json": (kineto({"ph": "s", "cat": "kernel", "name": "ac2g", "ts": 1, "id": 1}), "gemm", [2500] * 20),
    "nvprof.csv": ("======== Warning: 3 records are invalid\n" + NVPROF, "gemm(int)", [5500]),
    "collection.csv": (COLLECTION, "gemm", [700, 700]),
    "uniform.csv": (UNIFORM.format(i=1), "gemm", [5500, 6500]),
    "statistics.csv": (STATISTICS, "_Z1kv", [600, 700]),
    "macsim.txt": (macsim(), "", [900, 900]),
    "ticks-macsim.txt": (macsim(lcm="6.0", clock="2.0"), "", [300, 300]),
    "bare.json": (json.dumps(json.loads(kineto())["traceEvents"]), "gemm", [2500] * 20),
    "control.json": (kineto().replace("gemm", "gemm\n1"), "gemm 1", [2500] * 20),
    "mentions.json": ('{"note": "\\"traceEvents\\": [", ' + kineto()[1:], "gemm", [2500] * 20),
    "open.json": (kineto()[:-1], "gemm", [2500] * 20),
    "utf16.json": (kineto().encode("utf-16"), "gemm", [2500] * 20),
    "windows.txt": (output(1, 2).replace("\n", "\r\n"), "k", [601, 602]),
}


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))


def judged(path, capsys):
    with pytest.raises(typer.Exit) as end:
        check([path], None, None, True)
    (record,) = json.loads(capsys.readouterr().out)
    return end.value.exit_code, record


def words_of(record):
    return " ".join([record.get("error", ""), *(finding["sentence"] for finding in record["findings"])])


@pytest.mark.parametrize("name", READ)
def test_an_odd_file_is_read_right(name, tmp_path, capsys):
    content, first, times = READ[name]
    write(tmp_path / name, content)
    assert judged(tmp_path / name, capsys)[0] == 0
    profile = read_profile(tmp_path / name)
    assert profile.names[0] == first and profile.time.tolist() == times
    assert profile.grid.all() != (name.endswith("macsim.txt") or name in ("statistics.csv", "events.csv")), (
        "these know no grids"
    )


def test_the_output_of_macsim_names_the_trace_of_each_kernel(tmp_path):
    write(tmp_path / "macsim.txt", macsim())
    assert tuple(read_profile(tmp_path / "macsim.txt").traces) == ("Kernel0/trace.txt", "Kernel1/trace.txt")


def test_what_the_damaged_files_are_made_of_is_sound(tmp_path, capsys):
    sound = {"t.csv": gpu_trace(700, 800), "n.csv": ncu("us", "5.45", "1.5"), "r.csv": rocprof((10_700, 256)),
             "k.json": kineto(), "o.txt": output(1, 2, 3)}  # fmt: skip
    for name, content in sound.items():
        write(tmp_path / name, content)
    nsys(tmp_path / "n.sqlite")
    for name, content in listed().items():
        write(tmp_path / "list" / name, content)
    for name in (*sound, "n.sqlite", "list"):
        assert judged(tmp_path / name, capsys)[0] == 0, name


@pytest.mark.parametrize("name", FOLDERS)
def test_a_damaged_list_is_refused_or_named(name, tmp_path, capsys):
    files, word = FOLDERS[name]
    for path, content in files.items():
        write(tmp_path / path, content)
    code, record = judged(tmp_path, capsys)
    assert code > 0 and word in words_of(record), record


SECRET = "root:x:0"


@pytest.mark.parametrize(
    ("link", "to", "text"),
    [
        ("kernel-4.traceg", "secret", LINES),
        ("sub", "", "sub/kernel-9.traceg\n"),
        ("kernelslist.g", "secret", None),
        ("kernel_config.txt", "secret", None),
    ],
)
def test_a_file_that_a_link_in_a_folder_leads_to_is_not_printed(link, to, text, tmp_path, capsys):
    for path in ("secret", "kernel-9.traceg"):
        write(tmp_path / "mine" / path, f"{SECRET}\n")
    for name, content in ({} if text is None else listed(text)).items():
        write(tmp_path / "theirs" / name, content)
    (tmp_path / "theirs").mkdir(exist_ok=True)
    (tmp_path / "theirs" / link).unlink(missing_ok=True)
    (tmp_path / "theirs" / link).symlink_to(tmp_path / "mine" / to)
    code, record = judged(tmp_path / "theirs", capsys)
    assert code > 0 and SECRET not in words_of(record), record
    assert (text is None) or "links-outside: 1 of" in words_of(record)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_profile_or_output_is_refused_or_named(name, tmp_path, capsys):
    content, word = FILES[name]
    write(tmp_path / name, content)
    code, record = judged(tmp_path / name, capsys)
    assert code > 0 and word in words_of(record) and "\n" not in record.get("error", ""), record


@pytest.mark.parametrize("name", EXPORTS)
def test_a_damaged_export_is_refused_or_named(name, tmp_path, capsys):
    parts, word = EXPORTS[name]
    nsys(tmp_path / name, **parts)
    code, record = judged(tmp_path / name, capsys)
    assert code > 0 and word in words_of(record), record


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_an_export_that_has_not_ended_is_refused(end, tmp_path, capsys):
    nsys(tmp_path / "run.sqlite")
    write(tmp_path / f"run.sqlite{end}", "changes")
    code, record = judged(tmp_path / "run.sqlite", capsys)
    assert code == 2 and "has not ended" in words_of(record), record
