"""A sequence of launches in MacSim's layout: written as Accel-Sim traces and converted."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from kernelpoint.files import write_output
from kernelpoint.simulators.macsim.convert import Conversion, convert_to_macsim
from kernelpoint_lab.synth.compose import Request, prepare
from kernelpoint_lab.synth.lists import DESCRIPTION, LIST, Totals, write_list


def write_macsim_list(
    request: Request,
    output: Path,
    force: bool,
    on_launch: Callable[[Totals], None] = lambda _: None,
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> tuple[Totals, Conversion]:
    """Write kernel_config.txt, kernel_names.txt, the launches' folders and workload.json.

    Copies from the host, which MacSim's format does not have, are left out. The Accel-Sim traces lie beside `output` while
    they are needed. The entries of workload.json name folders of launches; the sizes there are those of the Accel-Sim
    traces.

    Args:
        request: result of :func:`~kernelpoint_lab.synth.compose.compose`.
        output: a new or empty folder, or with `force` one that an earlier call filled.
        on_launch: function called after each launch is composed.
        progress: progress function of :func:`~kernelpoint.simulators.macsim.convert.convert_to_macsim`.

    Raises:
        ConfigError: the folder cannot be used.
        TraceError: a launch is too large for MacSim's numbering.
    """
    if force and (output / DESCRIPTION).exists():
        for launch in output.glob("Kernel*[0-9]"):
            shutil.rmtree(launch)
        for name in ("kernel_config.txt", "kernel_names.txt"):
            (output / name).unlink(missing_ok=True)
    prepare(output, force, 3)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}-") as folder:
        traces = Path(folder)
        totals = write_list(request.sequence, traces, request.launches, request.description, on_launch=on_launch)
        made = convert_to_macsim(traces / LIST, output, progress=progress)
        document = json.loads((traces / DESCRIPTION).read_text())
    folders = [line.split("/")[1] for line in (output / "kernel_config.txt").read_text().splitlines()[3:]]
    for number, folder in zip(document["sequence"], folders, strict=True):
        document["launches"][number]["file"] = folder
    write_output(output / DESCRIPTION, json.dumps(document, separators=(",", ":")) + "\n")
    return totals, made
