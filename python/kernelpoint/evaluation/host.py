"""Ground truth from the embedded host: a full run, kept for the next comparison."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

from kernelpoint.errors import ConfigError
from kernelpoint.files import read_regular
from kernelpoint.traces import launch_paths
from kernelpoint.workload import fingerprint

Log = Callable[[str], None]
MOST_BYTES = 1 << 28
HOST_CONFIGS = Path(__file__).resolve().parent.parent / "host_configs"
PROGRAM = Path(__file__).resolve().parent.parent / "bin" / "kernelpoint-host"


def full_run(traces: str, config: str, folder: Path, log: Log) -> Path:
    """Per-launch results of a full run of the embedded host; run only where `folder` does not hold them yet.

    Args:
        traces: the trace list.
        config: a configuration file of the host, or the name of one that comes with the package (v100, rtx).

    Raises:
        ConfigError: there is no such configuration, the host is not built, or the run failed.
    """
    settings = Path(config) if Path(config).exists() else HOST_CONFIGS / f"{config}.yaml"
    if not settings.is_file():
        allowed = ", ".join(sorted(path.stem for path in HOST_CONFIGS.glob("*.yaml")))
        raise ConfigError(f"host: got {config!r}; allowed: a file, or {allowed}")
    if not PROGRAM.is_file():
        raise ConfigError(f"the embedded host {PROGRAM} is missing; build it with `make build`")
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / f"host-{_key(traces, settings)}.csv"
    if results.is_file():
        return results
    log(f"{traces}: full run on the embedded host ({settings.stem}) ...")
    unfinished = results.with_suffix(".unfinished")
    command = [str(PROGRAM), "-trace", traces, "-config", str(settings), "-results", str(unfinished)]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as host:
        for line in host.stderr or ():
            lines.append(line.strip())
            if line.endswith("s left\n"):
                log(line.strip())
    if host.returncode:
        raise ConfigError(f"the full run of {traces} failed ({host.returncode}): {' '.join(lines)[-400:]}")
    unfinished.replace(results)
    return results


def _key(traces: str, settings: Path) -> str:
    """Hash of all that the results depend on: the host itself, its configuration, and the traces."""
    digest = hashlib.blake2b(read_regular(settings, MOST_BYTES) + read_regular(PROGRAM, MOST_BYTES), digest_size=8)
    paths = launch_paths(traces)
    digest.update(fingerprint([len(paths)], paths).encode())
    return digest.hexdigest()
