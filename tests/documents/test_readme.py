"""The commands of the README, run in order in an empty folder."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Lines that a test cannot run: this test is part of the first, the others need the simulators built.
ELSEWHERE = ("make ", "accel-sim.out ", "cd ~/macsim", "macsim ", "run_simulations.py ")


def blocks() -> list[str]:
    """The code blocks, in order."""
    return re.findall(r"^```[a-z]*\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every line of a code block that is a command, without its comment."""
    lines = [re.sub(r"\s+#.*", "", line) for block in blocks() for line in block.splitlines()]
    return [line for line in lines if re.match(r"(make|kernelpoint|kernelpoint-host|accel-sim\.out|macsim|cd)\b", line)]


def test_every_command_of_the_readme_works_in_order(folder):
    (yaml,) = (block for block in blocks() if block.startswith("version: 1"))
    run = [line for line in commands() if not line.startswith(ELSEWHERE)]
    # The report of the first block is on a simulator's run; here the embedded host's comes first.
    reports = [line for line in run if line.startswith("kernelpoint report")]
    run = [line for line in run if line not in reports]
    assert len(run) >= 6 and reports
    (folder / "kernelpoint.yaml").write_text(yaml)
    for line in [*run, *reports]:
        done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        assert "Traceback" not in done.stderr
    assert (folder / "run.html").exists()


def test_the_readme_fits_120_lines():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120
