"""kernelpoint-host, which is built with the package that is tested, over a list of traces."""

import os
import subprocess
from pathlib import Path
from typing import Any

from kernelpoint.cli.host import program


def host_command(traces: Path, folder: Path, yaml: str | None = None, *options: object) -> list[str]:
    """The command over a list; with `yaml`, sampled with that configuration and the journal run.kpjournal in the folder."""
    sampling: list[object] = []
    if yaml is not None:
        sampling = ["-kernel_sampling", folder / "kernelpoint.yaml"]
        (folder / "kernelpoint.yaml").write_text(f"version: 1\n{yaml}\njournal: {folder / 'run.kpjournal'}\n")
    gpu = [] if "-config" in options else ["-config", "v100"]
    return list(map(str, [program(), "-trace", traces, *gpu, *options, *sampling]))


def run_host(
    traces: Path,
    folder: Path,
    yaml: str | None = None,
    *options: object,
    environment: dict[str, str] | None = None,
    **how: Any,
) -> subprocess.CompletedProcess[str]:
    """Run the command in the folder, with changes of the environment and what else subprocess.run takes."""
    return subprocess.run(
        host_command(traces, folder, yaml, *options),
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
        **how,
    )
