"""Pin all that `make` installs, with hashes: requirements/*.txt from pyproject.toml and constraints.txt.

make lock                                      # asks the registry for the hashes of every file of these versions
python tests/setup/lock.py TORCH_CPU.whl ...   # keeps PyTorch's CPU builds too, which come from another index
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "requirements"
EXTRAS = ("report", "figures", "train", "cluster", "dev", "docs")
BUILDING = "setuptools\npybind11\n"
TOOLS = "uv\ncyclonedx-bom\npip-audit\n"
OF_CUDA = re.compile(r"(nvidia|cuda|triton)\b")
OLDEST_PYTHON = "3.11"  # that the pinned versions have files for
HEADER = "# Made by `make lock`; installed with --require-hashes.\n"


def resolved(*sources: str, more: str = "") -> dict[str, str]:
    """Name of each package that sources need -> its lines in a requirements file."""
    command = ["uv", "pip", "compile", *sources, "-", "--universal", "--python-version", OLDEST_PYTHON]
    options = ["--generate-hashes", "--no-header", "--no-annotate", "--quiet", "--constraint", "constraints.txt"]
    done = subprocess.run([*command, *options], input=more, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    blocks = re.split(r"^(?=[\w.-]+==)", done.stdout, flags=re.MULTILINE)[1:]
    return {block.split("==")[0]: block for block in blocks}


def write(name: str, blocks: dict[str, str]) -> None:
    (FOLDER / f"{name}.txt").write_text(HEADER + "".join(blocks.values()))


def with_hashes(block: str, hashes: set[str]) -> str:
    """A package's lines with further hashes."""
    first, *known = block.rstrip("\n").split(" \\\n")
    return " \\\n".join([first, *sorted({*known, *(f"    --hash=sha256:{digest}" for digest in hashes)})]) + "\n"


def main(wheels: list[str]) -> None:
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    everything = resolved("pyproject.toml", *extras, more=BUILDING)
    cuda = {name: block for name, block in everything.items() if OF_CUDA.match(name)}
    kept = FOLDER / "torch.txt"
    known = set(re.findall(r"sha256:(\w+)", kept.read_text())) if kept.exists() and not wheels else set()
    hashes = known | {hashlib.sha256(Path(wheel).read_bytes()).hexdigest() for wheel in wheels}
    write("torch", {"torch": with_hashes(everything["torch"], hashes)})
    write("torch-cuda", cuda)
    write("develop", {name: block for name, block in everything.items() if name not in {"torch", *cuda}})
    needed = resolved("pyproject.toml", "--extra", "report", more=BUILDING)
    write("run", {name: everything[name] for name in needed})
    write("tools", resolved(more=TOOLS))


if __name__ == "__main__":
    main(sys.argv[1:])
