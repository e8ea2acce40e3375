"""A real simulator, the plugin, and launches that are read as they come."""

import subprocess
import sys
from pathlib import Path

from embedded_host import run_host

from kernelpoint.journal import load_run


def test_the_embedded_host_runs_online(traces, tmp_path):
    listed = Path(traces[0]).with_name("kernelslist.g")
    yaml = "policy: kernelpoint\nclusters: online\nerror_budget: {relative_error: 0.05}"
    done = run_host(listed, tmp_path, yaml)
    assert done.returncode == 0, done.stderr
    assert "launches are not known beforehand" in done.stdout + done.stderr
    summary = load_run(tmp_path / "run.kpjournal").content()
    assert summary["launches"] == len(traces) and summary["met"] and not summary["degraded"]
    assert summary["simulated"] + summary["skipped"] == len(traces)


def test_an_online_run_on_known_streams_imports_neither_torch_nor_scikit_learn(host):
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
