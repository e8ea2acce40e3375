"""Pin all that `make` installs, with hashes: requirements/*.txt from pyproject.toml and constraints.txt.

make lock                                      # asks the registry for the hashes of every file of these versions
python tests/setup/lock.py TORCH_CPU.whl ...   # keeps PyTorch's CPU builds too, which come from another index
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "requirements"
EXTRAS, GROUPS = ("report", "train", "cluster", "formats"), ("dev", "docs")
BUILDING = "setuptools\npybind11\n"
TOOLS = "uv\ncyclonedx-bom\npip-audit\n"
OF_CUDA = re.compile(r"(nvidia|cuda|triton)\b")
OLDEST_PYTHON = "3.11"  # the oldest for which the pinned versions have files
HEADER = "# Made by `make lock`; installed with --require-hashes.\n"


def resolved(*sources: str, more: str = "") -> dict[str, str]:
    """Name of each package that sources need -> its lines in a requirements file, of one or more versions by Python's."""
    command = ["uv", "pip", "compile", *sources, "-", "--universal", "--python-version", OLDEST_PYTHON]
    options = ["--generate-hashes", "--no-header", "--no-annotate", "--quiet", "--constraint", "constraints.txt"]
    done = subprocess.run([*command, *options], input=more, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    blocks = re.split(r"^(?=[\w.-]+==)", done.stdout, flags=re.MULTILINE)[1:]
    by_name: dict[str, str] = {}
    for block in blocks:
        name = block.split("==")[0]
        by_name[name] = by_name.get(name, "") + block
    return by_name


def write(name: str, blocks: dict[str, str]) -> None:
    (FOLDER / f"{name}.txt").write_text(HEADER + "".join(blocks.values()))


def write_cpu_build(torch: str, wheels: list[str]) -> None:
    """Hashes of PyTorch's CPU builds; those known before stay where no files are named."""
    kept = re.findall(r"sha256:(\w+)", (FOLDER / "torch-cpu.txt").read_text()) if not wheels else []
    hashes = sorted({*kept, *(hashlib.sha256(Path(wheel).read_bytes()).hexdigest() for wheel in wheels)})
    name = torch.split()[0]
    write("torch-cpu", {"torch": " \\\n    ".join([f"{name}+cpu", *(f"--hash=sha256:{each}" for each in hashes)]) + "\n"})


def main(wheels: list[str]) -> None:
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    groups = [word for group in GROUPS for word in ("--group", group)]
    everything = resolved("pyproject.toml", *extras, *groups, more=BUILDING)
    cuda = {name: block for name, block in everything.items() if OF_CUDA.match(name)}
    write("torch", {"torch": everything["torch"]})
    write_cpu_build(everything["torch"], wheels)
    write("torch-cuda", cuda)
    write("develop", {name: block for name, block in everything.items() if name not in {"torch", *cuda}})
    needed = resolved("pyproject.toml", "--extra", "report", more=BUILDING)
    write("run", {name: everything[name] for name in needed})
    write("tools", resolved(more=TOOLS))


if __name__ == "__main__":
    main(sys.argv[1:])
