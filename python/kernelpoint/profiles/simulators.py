"""The printed output of a full run of Accel-Sim or MacSim."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.profile import Profile, ProfileBuilder
from kernelpoint.profiles.tables import shape

_ACCEL_SIM = re.compile(
    r"(Processing kernel|-kernel name|-grid dim|-block dim|-shmem|-nregs|-cuda stream id|launching kernel name|kernel_name|"
    r"kernel_launch_uid|gpu_sim_cycle|gpu_sim_insn|kernelpoint_\w+)(?:\s*[=:]|\s(?=/))\s*(.*)"
)
_SETUP = re.compile(r"C=(\d+)\):\s+setup_process:(\d+) (\S+) current_index:(\d+) \((\d+)\)")
_END = re.compile(r"C=(\d+)\):.*application (\d+) terminated")
_CLOCK = re.compile(r"(Clock LCM|GPU clock frequency)\s*:\s*([\d.]+)")


def read_accel_sim(file: TextIO, source: str, device: int | None = None) -> Profile:
    """Cycles and instructions of every kernel that Accel-Sim printed, in the order of launch uids.

    Grid, block, shared memory, registers and the trace's file name come from the header that is printed when a trace is
    opened; the n-th `launching kernel name` belongs to the n-th such header.

    Raises:
        ProfileError: the run was sampled, so most of its cycles are estimates; a kernel was launched but never finished.
    """
    headers: list[dict[str, str]] = []
    launched: dict[int, dict[str, str]] = {}
    results: dict[int, dict[str, str]] = {}
    result: dict[str, str] = {}
    for line in file:
        found = _ACCEL_SIM.match(line)
        if found is None:
            continue
        key, value = found.group(1), found.group(2).strip()
        if key.startswith("kernelpoint_"):
            raise ProfileError(f"{source}: the output of a sampled run ({key}); a profile needs a full run")
        if key == "Processing kernel":
            headers.append({"trace": Path(value).name})
        elif key == "launching kernel name":
            uid = re.search(r"uid: (\d+)", value)
            if uid and headers:
                launched[int(uid.group(1))] = headers[min(len(launched), len(headers) - 1)]
        elif key.startswith("-"):
            if headers:
                headers[-1][key] = value
        elif key == "kernel_name":
            result = {key: value}
        elif result:
            result[key] = value
            if key == "kernel_launch_uid":
                results[int(value)] = result
    return _accel_sim_profile(source, launched, results, device)


def _accel_sim_profile(
    source: str, launched: dict[int, dict[str, str]], results: dict[int, dict[str, str]], device: int | None
) -> Profile:
    unfinished = sorted(launched.keys() - results.keys()) + [u for u, r in results.items() if "gpu_sim_insn" not in r]
    if unfinished:
        raise ProfileError(f"{source}: kernel launch {unfinished[0]} never finished; the run was not complete")
    builder = ProfileBuilder(source)
    for uid, result in results.items():
        header = launched.get(uid, {})
        where = f"{source}: launch {uid}"
        builder.add(
            result["kernel_name"],
            shape(header.get("-grid dim", "0,0,0"), where),
            shape(header.get("-block dim", "0,0,0"), where),
            int(header.get("-nregs", -1)),
            int(header.get("-shmem", -1)),
            int(header.get("-cuda stream id", -1)),
            order=uid,
            counters={"cycles": float(result["gpu_sim_cycle"]), "instructions": float(result["gpu_sim_insn"])},
            trace=header.get("trace", ""),
        )
    return builder.finish(device)


def read_macsim(file: TextIO, source: str, device: int | None = None) -> Profile:
    """Cycles of every kernel of one application that MacSim printed.

    A kernel lasts from its `setup_process` to the next one, the last to the end of the application. MacSim's clock ticks
    at the least common multiple of its clocks (C= in the log); cycles are those of the GPU. Names stand in the traces only;
    the traces are given as FOLDER/trace.txt.

    Raises:
        ProfileError: several applications, a kernel missing, or an application that did not end: the run was not complete.
    """
    starts: list[int] = []
    traces: list[str] = []
    end, expected, clock = None, 0, {"Clock LCM": 1.0, "GPU clock frequency": 1.0}
    for line in file:
        if "Clock LCM" in line or "GPU clock" in line:
            clock.update({key: float(value) for key, value in _CLOCK.findall(line)})
        elif found := _SETUP.search(line):
            if found.group(2) != "0":
                raise ProfileError(f"{source}: several applications ({found.group(2)}); a profile is of one")
            starts.append(int(found.group(1)))
            traces.append("/".join(Path(found.group(3)).parts[-2:]))
            expected = int(found.group(5))
        elif found := _END.search(line):
            end = int(found.group(1))
    if end is None or len(starts) != expected:
        raise ProfileError(f"{source}: {len(starts)} of {expected} kernels, end {end}; the run was not complete")
    scale = clock["GPU clock frequency"] / clock["Clock LCM"]
    builder = ProfileBuilder(source)
    for index, (first, last) in enumerate(zip(starts, [*starts[1:], end], strict=True)):
        builder.add("", order=index, counters={"cycles": (last - first) * scale}, trace=traces[index])
    return builder.finish(device)
