"""Valid small files and their contents, for attacks to change."""

import hashlib
import io
import zipfile

import numpy as np
from profiler_files import CENSUS_HEAD

from kernelpoint.planning.plan import FORMAT_VERSION
from kernelpoint.program import RECORD

KIND, KEY = "embedding", "ab" * 16

PROFILES = {
    "nsys.csv": "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
    "Throughput (MBps),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n1,2,3,1,1,1,32,1,1,16,0,0,,,,,GPU (0),1,7,k\n",
    "ncu.csv": '"ID","Process ID","Kernel Name","Grid Size","Block Size","Metric Name","Metric Unit","Metric Value"\n'
    '"0","1","k","(1, 1, 1)","(32, 1, 1)","gpu__time_duration.sum","nsecond","1,200"\n',
    "kineto.json": '{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":2,"args":{"grid":[1,1,1],'
    '"block":[32,1,1],"stream":7,"device":0,"correlation":3}}]}',
    "results.csv": "launch_index,trace,kernel_name,cycles,instructions\n0,kernel-1.traceg,k,10,20\n",
    "accelsim.txt": "Processing kernel kernel-1.traceg\nkernel_name = k \nkernel_launch_uid = 1 \ngpu_sim_cycle = 10\n"
    "gpu_sim_insn = 5\n",
}
CENSUS = CENSUS_HEAD + "".join(
    f"kernel-{i + 1}-ctx_0x5d0.trace.xz, _Z{i % 4}k, 8, 1, 1, 8, 64, 1, 1, 64, 0,0\n" for i in range(40)
)

MACSIM_CENSUS = (
    "Kernel{} name: k{}\n  Grid size: (8, 1, 1), Block size: (64, 1, 1), maxBlockPerCore: 16, # of regs: 16, "
    "static shared mem: 0, dynamic shared mem: 0\n"
)


def plain(error: Exception) -> bool:
    """True if a message is short, and in words of our own."""
    text = str(error)
    return len(text) < 4000 and "object at 0x" not in text and "Traceback" not in text


def sealed(path, members):
    """An archive of any bytes, with a right checksum."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = b"kernelpoint blake2b " + b"0" * 64
    body = data.getvalue()[:-64]
    path.write_bytes(body + hashlib.blake2b(body, digest_size=32).hexdigest().encode())


def parts():
    """Content of a plan's file: JSON and arrays."""
    about = {
        "version": FORMAT_VERSION, "origin": {"traces": "t"}, "errors": {"4": "empty"}, "remarks": {}, "knows_errors": True,
        "names": ["k", "l"], "predictions": [], "forecast": [],
    }  # fmt: skip
    arrays = {
        "design_strata": np.array([0, 0, 1, 1, -1]), "design_first_sizes": np.array([1, 1]), "design_x": np.ones(5),
        "design_clusters": np.array([0, 1]), "design_balanced": np.array(True),
        "launch_label": np.array([0, 0, 1, 1, -1]), "launch_content": np.array([0, 0, 1, 1, 2]),
        "labels_names": np.array([0, 1]), "labels_shapes": np.ones((2, 8), np.int64),
        "contents_records": np.zeros(3, RECORD), "contents_keys": np.zeros((3, 3), np.uint64),
        "contents_stream_ids": np.array([0, 1, -1]),
    }  # fmt: skip
    return about, arrays
