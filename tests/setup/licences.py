"""List the licences of all that `make` installs: requirements/README.md, from the metadata of the installed packages.

.venv/bin/python tests/setup/licences.py           # `make licences`
"""

import re
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "requirements" / "README.md"
HEAD = """# Dependencies and their licences

All packages that `make` installs, with the licence that each states in its metadata. *Run*: needed for runs, with the
charts of `.[report]`. The others are for training, clusters, tests and documents. The files here have the hash of each.

`make lock` makes these files, and `make licences` this page. `make sbom` writes a bill of materials (CycloneDX).
`make audit` asks the registry for known weaknesses. Packages for other systems are not listed.

PyTorch's CUDA build brings the packages of `torch-cuda.txt`: NVIDIA's, under NVIDIA's terms, and Triton (MIT).

| Package | Version | Licence | For |
|---|---|---|---|
"""
LONGEST = 60  # of a licence; some packages put its whole text there


def pinned(name: str) -> dict[str, str]:
    """Package -> version in a requirements file."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))


def licence(name: str) -> str:
    """Licence that an installed package states."""
    stated = metadata.metadata(name)
    classifiers = [text.split(" :: ")[-1] for text in stated.get_all("Classifier", []) if text.startswith("License ::")]
    first_line = stated.get("License", "").strip().split("\n")[0]
    licence_text = stated.get("License-Expression") or ", ".join(classifiers) or first_line
    return licence_text[:LONGEST].replace("|", "/") or "not stated"


def page() -> str:
    """Text of the page."""
    run, everything = pinned("run"), {**pinned("develop"), **pinned("torch")}
    here = {re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower() for distribution in metadata.distributions()}
    rows = [
        f"| {name} | {everything[name]} | {licence(name)} | {'run' if name in run else ''} |\n"
        for name in sorted(everything)
        if re.sub(r"[-_.]+", "-", name).lower() in here
    ]
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page())
