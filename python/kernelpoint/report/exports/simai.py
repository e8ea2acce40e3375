"""Times of modules for SimAI's workload generator (AICB's `--comp_filepath`): sections with times in microseconds."""

from __future__ import annotations

import re
from pathlib import Path

from kernelpoint.errors import ConfigError
from kernelpoint.files import write_output
from kernelpoint.journal import Run
from kernelpoint.report.export import Export, Options, clock_of


class Simai(Export):
    """Export of the times of modules for SimAI, a simulator of training clusters.

    A module is an innermost range of the program; ranges with the same name are repetitions. `time_gpu_avg`, `time_gpu_min` and
    `time_gpu_max` are the mean, least and largest time of the repetitions. SimAI recognises attention, MLP and other modules by
    their names: `layernorm`, `atten...`, `mlp...`, `Emb`, `logit_time`. Names may contain letters, digits and "_".
    """

    def write(self, run: Run, path: Path, options: Options) -> str:
        if not run.ranges:
            raise ConfigError(
                f"{run.path}: this export writes each range (named part of a run) as a module, but the run has no ranges; set "
                "`ranges: names` or a file of ranges in the configuration, and run again"
            )
        microseconds = 1.0 / clock_of(run, options.clock)
        parents = {name.rpartition("/")[0] for name in run.ranges}
        times_of: dict[str, list[float]] = {}
        for name, part in run.ranges.items():
            cycles = part.estimates["cycles"].estimate if "cycles" in part.estimates else None
            if name not in parents and cycles is not None:
                times_of.setdefault(re.sub(r"\W", "_", name.rpartition("/")[2]), []).append(cycles * microseconds)
        lines = ["train_iter:1"]
        for name, times in times_of.items():
            for key, value in (("max", max(times)), ("min", min(times)), ("avg", sum(times) / len(times))):
                lines += [f"{name}:"] * (key == "max") + [f"    time_gpu_{key}: {value:.3f}"]
        write_output(path, "\n".join(lines) + "\n")
        return f"{len(times_of):,} modules"
