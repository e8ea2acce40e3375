"""The printed output of a full run of Accel-Sim."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.format import STRUCTURE, WORDS, TextFormat
from kernelpoint.profiles.formats.tables import number, shape, whole_number
from kernelpoint.program import Program, ProgramBuilder

_ACCEL_SIM = re.compile(
    r"(Processing kernel(?=:|\s+\S)|-kernel name|-grid dim|-block dim|-shmem|-nregs|-cuda stream id|launching kernel name|"
    r"kernel_name|kernel_launch_uid|gpu_sim_cycle|gpu_sim_insn|kernelpoint_\w+)(?:\s*[=:]|(?<=kernel))\s*(.*)"
)
EXIT = "GPGPU-Sim: *** exit detected ***"
# Beginnings of lines -> the remark that they are a sign of.
SIGNS = {
    "GPGPU-Sim: ** break due to reaching the maximum": "limit-reached",
    "GPGPU-Sim uArch: ERROR **": "profiler-errors",
    "GPGPU-Sim uArch: DEADLOCK": "profiler-errors",
}


class AccelSimOutput(TextFormat):
    """Format of Accel-Sim's output. Launches are the kernels whose statistics it printed, in the order of their uids.

    Grid, block, shared memory, registers and the trace's file name come from the header that is printed when a trace is opened;
    the n-th line `launching kernel name` belongs to the n-th such header.

    Raises:
        ProfileError: the run was sampled, so that cycles are missing, or a kernel was launched but did not finish.
    """

    description = "output of Accel-Sim"
    recognised = WORDS, r"(?s).*(Accel-Sim|GPGPU-Sim)"

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Program:
        headers: list[dict[str, str]] = []
        launched: dict[int, dict[str, str]] = {}
        results: dict[int, dict[str, str]] = {}
        result: dict[str, str] = {}
        builder = ProgramBuilder(source)
        begun, ended, last, repeated = 0, 0, 0, 0
        for last, line in enumerate(file, 1):
            if line.startswith("GPGPU-Sim"):
                ended += line.startswith(EXIT)
                for sign, kind in SIGNS.items():
                    if line.startswith(sign):
                        builder.remark(kind, 1, place=f"line {last}: {sign}")
            begun += line.startswith("Accel-Sim [build")
            match = _ACCEL_SIM.match(line)
            if match is None:
                continue
            key, value = match.group(1), match.group(2).strip()
            if key.startswith("kernelpoint_"):
                raise ProfileError(f"{source}: this is output of a sampled run (it has {key}); a profile needs a full run")
            if key == "Processing kernel":
                headers.append({"trace": Path(value).name})
            elif key == "launching kernel name":
                named = re.search(r"uid: (\d+)", value)
                if named and headers:
                    launched[int(named.group(1))] = headers[len(launched)] if len(launched) < len(headers) else {}
            elif key.startswith("-"):
                if headers:
                    headers[-1][key] = value
            elif key == "kernel_name":
                result = {key: value}
            elif result:
                repeated += key in result  # lines of another output between those of a launch
                result[key] = value
                if key == "kernel_launch_uid":
                    if len(value.split()) > 1:
                        raise ProfileError(
                            f"{source}:{last}: launches {value[:60]} ended together, so no cycles are of one of them: simulate "
                            "without -gpgpu_concurrent_kernel_sm"
                        )
                    if (uid := whole_number(value, f"{source}:{last}: kernel_launch_uid")) < 1:
                        raise ProfileError(f"{source}:{last}: kernel_launch_uid: got {uid}; allowed: 1 or more")
                    repeated += uid in results
                    results[uid] = result
        if missing := max(results, default=0) - len(results):
            first = next(uid for uid in range(1, len(results) + 2) if uid not in results)
            builder.remark("missing-results", missing, place=f"launch {first}")
        if not ended:
            builder.remark("cut-output", len(results), place=f"line {last}")
        if repeated or max(begun, ended) > 1:
            builder.remark("several-runs", repeated or len(results), place=f"line {last}")
        wanted = {"gpu_sim_cycle", "gpu_sim_insn"}
        unfinished = [launch for launch in {*launched, *results} if not wanted <= results.get(launch, {}).keys()]
        if unfinished:
            raise ProfileError(f"{source}: kernel launch {min(unfinished)} never finished; the run was not complete")
        for launch, result in results.items():
            header = launched.get(launch, {})
            where = f"{source}: launch {launch}"
            builder.add(
                result["kernel_name"],
                shape(header.get("-grid dim", "0,0,0"), where),
                shape(header.get("-block dim", "0,0,0"), where),
                int(header.get("-nregs", -1)),
                int(header.get("-shmem", -1)),
                int(header.get("-cuda stream id", -1)),
                order=launch,
                counters={
                    "cycles": number(result["gpu_sim_cycle"], f"{where}: gpu_sim_cycle"),
                    "instructions": number(result["gpu_sim_insn"], f"{where}: gpu_sim_insn"),
                },
                trace=header.get("trace", ""),
            )
        return builder.finish(device)


_INSTANCE = re.compile(r"(.+?)--(.+)--(\d+)")  # application and arguments, kernel, which of its launches
# Statistic -> counter; the first of a counter that a file has is taken.
_STATISTICS = {
    "gpu_sim_cycle": "cycles",
    "gpu_tot_sim_cycle": "cycles",
    "gpu_sim_insn": "instructions",
    "gpu_tot_sim_insn": "instructions",
}


class GetStatsCsv(TextFormat):
    """Format of the output of Accel-Sim's script `get_stats.py -K`: for each statistic a line with its pattern, then a table of
    kernel launches in the order of the run.

    Without `-K` a table has one row for all launches of a kernel or an application, and is refused.

    Raises:
        ProfileError: there are no single launches, no cycles, or results of several configurations.
    """

    description = "output of Accel-Sim's get_stats.py -K"
    recognised = STRUCTURE, r"(?s)(.*\n)?(APPS|CFG),"

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Program:
        values: dict[str, dict[str, float]] = {}  # launch -> counter -> value
        chosen: dict[str, str] = {}
        repeated, applications = 0, set[str]()
        for statistic, launch, value in _statistics(file, source):
            counter = _STATISTICS.get(statistic, statistic)
            if (instance := _INSTANCE.fullmatch(launch)) and chosen.setdefault(counter, statistic) == statistic:
                repeated += counter in values.setdefault(launch, {})
                values[launch][counter] = value
                applications.add(instance.group(1))
        if "cycles" not in chosen:
            raise ProfileError(
                f"{source}: no cycles of single launches; run get_stats.py with -K and a statistic gpu_sim_cycle or "
                "gpu_tot_sim_cycle"
            )
        if len(applications) > 1:
            raise ProfileError(f"{source}: launches of {' and '.join(sorted(applications)[:2])}; give the results of one (-B)")
        builder = ProgramBuilder(source)
        if repeated:
            builder.remark("several-runs", repeated, place=source)
        numbers: dict[str, list[int]] = {}  # of the launches of each kernel, which count from 0 or 1
        for order, (launch, counters) in enumerate(values.items()):
            _, name, number = _INSTANCE.fullmatch(launch).groups()  # type: ignore[union-attr]
            numbers.setdefault(name, []).append(int(number))
            builder.add(name, order=order, counters=counters)
        first = min(1, *map(min, numbers.values()), 1)
        for name, there in numbers.items():
            if missing := max(there) + 1 - first - len(there):
                builder.remark("missing-results", missing, place=f"{name}: {len(there):,} of them, up to {max(there):,}")
        return builder.finish(device)


def _statistics(file: TextIO, source: str) -> Iterator[tuple[str, str, float]]:
    """Iterate over statistic, launch and value of every field of a table of get_stats.py."""
    statistic, header = "", []
    for line, text in enumerate(file, 1):
        fields = [field.strip() for field in text.rstrip("\r\n,").split(",")]
        if fields[0] in ("APPS", "CFG"):
            header = fields
            if fields[0] == "APPS" and len(fields) > 2:
                raise ProfileError(
                    f"{source}:{line}: the table has {len(fields) - 1} configurations; make it with get_stats.py -C for one "
                    "configuration"
                )
        elif len(fields) == 1:
            match = re.match(r"\w+", fields[0])
            statistic, header = (match.group(0), []) if match else (statistic, [])
        elif header:
            pairs = [(fields[0], fields[1])] if header[0] == "APPS" else [*zip(header[1:], fields[1:], strict=False)]
            for launch, value in pairs:
                try:
                    yield statistic, launch, math.nan if value == "NA" else float(value)
                except ValueError:
                    if statistic in _STATISTICS:  # others are texts, such as the build
                        raise ProfileError(f"{source}:{line}: {statistic}: expected a number, got {value[:60]!r}") from None
