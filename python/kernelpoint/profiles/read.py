"""One entry for every format: which one a file has is seen in its first bytes."""

from __future__ import annotations

from pathlib import Path

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.format import NOT_THIS, ProfileFormat, beginning_of, told_of
from kernelpoint.program import Program
from kernelpoint.registry import Registry
from kernelpoint.simulators import simulators

FORMATS: Registry[ProfileFormat] = Registry(
    "profile format", ProfileFormat, "kernelpoint.profiles.formats", "kernelpoint.profiles"
)
# Beginnings of files that are given in the place of a profile -> what to do.
FOREIGN = {
    b"version https://git-lfs": "this is a pointer of Git LFS, not the file: fetch it with `git lfs pull`",
    b"QDSTRM": "a report of Nsight Systems: export it with `nsys export --type sqlite FILE`",
    b"\x7fQDSTRM": "a report of Nsight Systems: export it with `nsys export --type sqlite FILE`",
    b"NVR\x00": "a report of Nsight Compute: export it with `ncu --import FILE --csv --page raw`",
    b"<!DOCTYPE html": "a page of the web, not the file: was a login asked for?",
    b"PK\x03\x04": "a zip archive: unpack it",
    b"MemcpyHtoD": "a list of traces: post-traces-processing writes kernelslist.g of it",
    b"kernel-": "a list of traces: post-traces-processing writes kernelslist.g of it",
}


def read_profile(path: str | Path, device: int | None = None) -> Program:
    """Read a profile of every kernel launch, from a profiler or a full simulation.

    Formats, recognised by content, plain or compressed with gzip or xz: those of simulators, of profiles/formats, and of other
    packages (entry point group `kernelpoint.profiles`).

    Args:
        path: the file.
        device: the GPU, where the file has launches of several.

    Raises:
        ProfileError: the file is missing, of no known format, or damaged; the message says where.

    >>> import pathlib
    >>> rows = "idx,name,grid,block,regs,smem,stream,ts_us,dur_us\\n0,gemm,64x1x1,128x1x1,32,0,7,0,5.5\\n"
    >>> _ = pathlib.Path("profile.csv").write_text(rows)
    >>> profile = read_profile("profile.csv")
    >>> profile.size, profile.names[0]
    (1, 'gemm')
    """
    path = Path(path)
    with told_of(str(path)):
        beginning = beginning_of(path)
        formats = [*(kind for simulator in simulators() for kind in simulator.profile_formats), *FORMATS.load_all()]
        chosen = max(formats, key=lambda kind: kind.certainty(beginning))
        if chosen.certainty(beginning) > NOT_THIS:
            return chosen().read(path, device)
    for start, what in FOREIGN.items():
        if beginning.raw.startswith(start):
            raise ProfileError(f"{path}: {what}")
    allowed = ", ".join(kind.description for kind in formats)
    raise ProfileError(f"{path}: no known profile (it begins {beginning.first_line[:60]!r}); allowed: {allowed}")
