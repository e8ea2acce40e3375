"""The printed output of a full run of Accel-Sim."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.builder import ProfileBuilder
from kernelpoint.profiles.format import NOT_THIS, WORDS, Beginning, TextFormat
from kernelpoint.profiles.profile import Profile
from kernelpoint.profiles.tables import shape

_ACCEL_SIM = re.compile(
    r"(Processing kernel|-kernel name|-grid dim|-block dim|-shmem|-nregs|-cuda stream id|launching kernel name|kernel_name|"
    r"kernel_launch_uid|gpu_sim_cycle|gpu_sim_insn|kernelpoint_\w+)(?:\s*[=:]|\s(?=/))\s*(.*)"
)


class AccelSimOutput(TextFormat):
    """Cycles and instructions of every kernel that Accel-Sim printed, in the order of launch uids.

    Grid, block, shared memory, registers and the trace's file name come from the header that is printed when a trace is
    opened; the n-th `launching kernel name` belongs to the n-th such header.

    Raises:
        ProfileError: the run was sampled, so most of its cycles are estimates; a kernel was launched but never finished.
    """

    description = "output of Accel-Sim"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
        return WORDS if "Accel-Sim" in beginning.text or "GPGPU-Sim" in beginning.text else NOT_THIS

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Profile:
        """See :class:`~kernelpoint.profiles.format.ProfileFormat`."""
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
