"""Valid inputs of the fuzz targets, written as plainly as can be: where each fuzzer begins."""

import gzip
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "reference"))

from plain_macsim import BODY, pack
from plain_tracez import from_text
from plain_tracez import pack as pack_tracez
from trace_writer import cluster_lines, cta, small_trace

try:
    import zstandard
except ImportError:  # then no seed is a .zst
    zstandard = None

ROOT = Path(__file__).parents[2]
LOAD = "0010 0000000f 1 R1 LDG.E.64.SYS 1 R2 8 1 0x7f0000001000 8"
DELTAS = "0020 00000007 1 R1 LDG.E.SYS 2 R2 UR4 4 2 0x7f0000001000 64 -4096"
LISTED = "0030 80000001 0 STG.E.SYS 2 R2 R3 4 0 0x7f0000001000 0x7f0000002004"
CODE = [LOAD, DELTAS, LISTED, LOAD, "0040 ffffffff 0 EXIT 0 0"]
LATEST = [
    f"{LOAD} 0 NoVal",
    f"{LISTED} 0 0x10 NoVal",
    "0040 ffffffff 1 R1 IMAD.WIDE 2 R2 UR4 0 0 Val 1 0xff 1 0x1 32 " + " ".join(f"{i:x}" for i in range(32)),
    "0050 00000001 0 UTMALDG.2D.MULTICAST 2 UR4 UR8 32 80 1 3 96 32 3 2 0x7f0000001000 0x7f0000001020 0 NoVal",
    "0060 00000001 0 UTMASTG.2D 2 UR4 UR8 0 0 0 96 0 4 0x7f0000001000 3 32 -64 0 0 NoVal",
    "0070 ffffffff 1 R24 HGMMA.64x8x16.F32 2 R24 UR4 1 0 0 NoVal",
]
TO_CONVERT = [
    "0000 ffffffff 0 MOV 0 0",
    "0010 0000000f 1 R1 LDG.E.64.SYS 1 R2 8 1 0x7f0000001000 512",
    "0020 00000007 1 R1 BRA 3 R2 UR4 P1 0",
    "0030 ffffffff 0 EXIT 0 0",
]
NAMES = (
    "Kernel0 name: void f<float>(float*, int)\n  Grid size: (2, 1, 1), Block size: (64, 1, 1), maxBlockPerCore: 16, "
    "# of regs: 24, static shared mem: 100, dynamic shared mem: 28\n"
)
LIST = "nvbit\n14\n-1\n./Kernel0/trace.txt\n./Kernel0/trace.txt\n"


def traceg() -> Iterator[bytes]:
    """A launch in versions 1, 2, 5 and 6, and packed."""
    numbered = [f"{i} {line} {-i}" for i, line in enumerate(CODE)]
    first = small_trace(cta(CODE, CODE) + cta(CODE, index="1,0,0"), grid="(2,1,1)")
    yield first.encode()
    yield small_trace(cta([f"0 0 0 0 {line}" for line in CODE]), version=2).encode()
    yield small_trace(cta(numbered), version=5).replace("\n#traces", "-enable lineinfo = 1\n#traces").encode()
    clustered = cta(LATEST).replace("0,0,0\n", "0,0,0\n" + cluster_lines((0, 0, 0), 1), 1)
    yield small_trace(clustered, version=6).encode()
    yield lzma.compress(first.encode())
    if zstandard is not None:
        yield zstandard.compress(first.encode())


def version6() -> Iterator[bytes]:
    """Instruction lines, all and one by one."""
    yield "\n".join(LATEST).encode()
    for line in LATEST:
        yield line.encode()


def tracez() -> Iterator[bytes]:
    """Two CTAs whose frames are stored, so that a fuzzer reaches the text inside them; and the header alone."""
    both = "".join(
        cta(LATEST, LATEST[:2], index=f"{x},0,0").replace(f"{x},0,0\n", f"{x},0,0\n" + cluster_lines((x, 0, 0), 2), 1)
        for x in range(2)
    )
    launch = from_text(small_trace(both, grid="(2,1,1)", version=6))
    for chunk in (2, 100):
        yield (whole := pack_tracez(launch, chunk))
    yield whole[: whole.index(0) + 5]
    if zstandard is not None:
        yield pack_tracez(launch, 3, zstandard.ZstdCompressor().compress)


def macsim() -> Iterator[bytes]:
    """A launch of two warps in two CTAs, its records plain and packed."""
    for form in (bytes, lambda b: gzip.compress(b, mtime=0)):
        content = form(pack(BODY))
        warps = "0 0\n65536 0\n"
        texts = (f"nvbit\n14\n16\n2\n{warps}", "0 4\n65536 4\n", NAMES, LIST)
        yield b"%%\n".join([*(text.encode() for text in texts), content, content])


def macsim_records() -> Iterator[bytes]:
    """The records of a warp, plain and packed."""
    yield pack(BODY)
    yield gzip.compress(pack(BODY), mtime=0)


def trace_list() -> Iterator[bytes]:
    """Lists of both simulators."""
    yield b"MemcpyHtoD,0x7f00,64\nkernel-1.traceg\nkernel-2.traceg.xz\nkernel-1.traceg\n"
    yield LIST.encode()


def conversion() -> Iterator[bytes]:
    """Traces without what the converter refuses, and one with a CTA twice."""
    yield small_trace(cta(TO_CONVERT, TO_CONVERT) + cta(TO_CONVERT[:1], index="1,0,0"), grid="(2,1,1)").encode()
    yield small_trace(cta(TO_CONVERT[1:])).encode()
    yield small_trace(2 * cta(TO_CONVERT), grid="(2,1,1)").encode()
    yield small_trace(cta(TO_CONVERT) + cta(index="0,1,0"), grid="(1,2,1)").encode()


def footprint() -> Iterator[bytes]:
    """Packed footprints of two lines, one with masks of its own; and traces."""
    yield bytes([2, 4, 4, 2, 0x80, 0x01, 0x06, 0xF1, 0x01])
    yield bytes([1, 1, 0, 1, 4])
    yield from traceg()


def graph() -> Iterator[bytes]:
    """Traces."""
    yield from traceg()


def fast_model() -> Iterator[bytes]:
    """Traces."""
    yield from traceg()


def history() -> Iterator[bytes]:
    """Contents with a few touches, then launches and copies; and launches alone."""
    yield bytes(range(256)) + bytes([10, 0, 10, 1, 10, 2, 220, 3, 5] * 12)
    yield bytes([1, 2, 0, 3, 3, 1, 1, 0, 5, 7, 7, 7, 2]) + bytes([0, 0, 0, 0, 1, 230, 7, 9]) * 10


def encoder() -> Iterator[bytes]:
    """Tensors and a graph that fit, of one layer and of three."""
    for layers in (1, 3):
        tensors = bytes(2 + 1 + 2 * 6 + 2 + 1 + 2 * 4)  # of tokens and modifiers
        yield from (tensors + bytes([layers, 4]) + bytes(shift + i % 190 for i in range(6000)) for shift in range(9))


def configuration() -> Iterator[bytes]:
    """The model's own, and options of both simulators."""
    yield (ROOT / "python" / "kernelpoint" / "host_configs" / "v100.yaml").read_bytes()
    yield (
        b"-gpgpu_n_clusters 80\n-gpgpu_n_cores_per_cluster 1\n-gpgpu_shader_registers 65536\n-gpgpu_clock_domains "
        b"1447.0:1447.0:1447.0:850.0\n-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L,A:512:8,16:0,32\n-gpgpu_n_mem 32 # channels\n"
        b"-gpgpu_cache:dl2 S:32:128:24,L:B:m:L:P,A:192:4,32:0,32\n-gpgpu_shader_core_pipeline 2048:32\n"
    )
    yield b"num_sim_cores 16\nnum_sim_small_cores 16\nl1_small_num_set 64\nl3_num_set 1024\nclock_gpu 1.2\n"


def loader() -> Iterator[bytes]:
    """A name for each of its places, short and repeated; the beginning of a pack."""
    for repeated in (0, 5):
        yield from (bytes([repeated, kind]) + b"lib/plugin.so\n" for kind in range(4))
    yield bytes([0, 3]) + b"PK\x03\x04\0"


def abi() -> Iterator[bytes]:
    """Calls of each kind; and stretches of right ones."""
    yield bytes(range(240)) * 2
    yield bytes(24) + bytes([0, 16, 39, 0, 13, 0]) * 20


TRACES = (traceg, version6, tracez, macsim, macsim_records, trace_list, conversion)
READERS = (*TRACES, footprint, graph, history, encoder, fast_model, configuration)
TARGETS = {f.__name__: f for f in (*READERS, loader, abi)}


def write_seeds(target: str, folder: Path) -> int:
    """Write the seeds of a target into a folder that may be there already; their number."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = list(TARGETS[target]())
    for number, content in enumerate(contents):
        (folder / f"seed-{number}").write_bytes(content)
    return len(contents)
