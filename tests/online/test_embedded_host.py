"""A real simulator, the plugin, and launches that are read as they come."""

import subprocess
import sys

import pytest

from kernelpoint.cli.host import program
from kernelpoint.errors import KernelPointError
from kernelpoint.journal import load_run


def host_program():
    try:
        found = program()
    except KernelPointError as error:
        pytest.skip(f"the embedded host is not built: {error}")
    return found


def test_the_embedded_host_runs_online(traces, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELPOINT_CACHE", str(cache))
    config, journal = tmp_path / "kernelpoint.yaml", tmp_path / "run.kpjournal"
    config.write_text(
        f"version: 1\npolicy: kernelpoint\nclusters: online\njournal: {journal}\nerror_budget: {{relative_error: 0.05}}\n"
    )
    folder = traces[0].rsplit("/", 1)[0]
    command = [
        str(host_program()),
        "-trace",
        f"{folder}/kernelslist.g",
        "-config",
        "v100",
        "-kernel_sampling",
        str(config),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "launches are not known beforehand" in done.stdout + done.stderr
    summary = load_run(journal).content()
    assert summary["launches"] == len(traces) and summary["met"] and not summary["degraded"]
    assert summary["simulated"] + summary["skipped"] == len(traces)


def test_an_online_run_on_known_streams_imports_neither_torch_nor_scikit_learn(host, cache):
    host.walk(host.open("error_budget: {relative_error: 0.05}"))  # fills the cache of embeddings
    host.journal.unlink()
    code = (
        "import sys\n"
        "from kernelpoint.session import boundary\n"
        f"session = boundary.open({str(host.folder / 'kernelpoint.yaml')!r}, "
        "{'simulator': 'test', 'config_hash': 'gpu', 'launch_counts': [0]}, lambda line: None)\n"
        f"session.on_launch(0, 0, {host.paths[0]!r})\n"
        "print(*[m for m in ('torch', 'sklearn', 'scipy', 'typer', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.strip() == "", done.stdout + done.stderr
