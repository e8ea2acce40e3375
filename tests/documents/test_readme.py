"""The commands of the README, run in order in an empty folder."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Lines that a test cannot run: this test is part of the first.
ELSEWHERE = ("make demo", "make test")


def blocks() -> list[str]:
    """The code blocks, in order."""
    return re.findall(r"^```[a-z]*\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every line of a code block that is a command, without its comment."""
    lines = [re.sub(r"\s+#.*", "", line) for block in blocks() for line in block.splitlines()]
    return [line for line in lines if re.match(r"(make|kernelpoint|kernelpoint-host|accel-sim\.out|macsim|cd)\b", line)]


def run(line: str, folder: Path) -> None:
    """One command in a shell, which has to end well."""
    done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert "Traceback" not in done.stderr


def test_every_command_of_the_readme_works_in_order(folder):
    """Both simulators are miniatures with their names, patched, built and run as the README says."""
    (yaml,) = (block for block in blocks() if block.startswith("version: 1"))
    lines = [line for line in commands() if not line.startswith(ELSEWHERE)]
    assert len(lines) >= 11
    # What a reader has: traces of either simulator, and its files of options.
    run("kernelpoint synth iterative-solver -o . --set rows=256 --launches 8", folder)
    run("kernelpoint synth iterative-solver -o traced --set rows=256 --launches 8 --format macsim", folder)
    (folder / "trace_file_list").write_text("1\ntraced/kernel_config.txt\n")
    for name in ("gpgpusim.config", "trace.config", "params.in"):
        (folder / name).touch()
    (folder / "kernelpoint.yaml").write_text(yaml)
    for line in lines:
        if "kernel_sampling" in line:  # each run has a journal of its own
            (folder / "run.kpjournal").unlink(missing_ok=True)
        run(line, folder)
        if line.startswith("kernelpoint report"):
            assert (folder / "run.html").exists()
    assert (folder / "run.kpjournal").exists()


def test_the_readme_fits_120_lines():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120
