"""Compare pinned versions with advisories that are at hand; nothing is asked of the network.

python tests/setup/advisories.py FOLDER REQUIREMENTS...    # `make advisories`; exits with 0: none known, 1: some, 2: no data

FOLDER holds advisories in the OSV format, one JSON file each, such as an unpacked export of a database of weaknesses.
An advisory counts where it lists a pinned version by its text.
"""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path


def pinned(text: str) -> dict[str, str]:
    """Versions of a requirements file, by the names of packages.

    >>> pinned("numpy==2.1.0 \\\\n    --hash=sha256:00\\nPy_YAML==6.0 ; python_version > '3'")
    {'numpy': '2.1.0', 'py-yaml': '6.0'}
    """
    versions = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in versions}


def weaknesses(advisory: dict[str, object], versions: dict[str, str]) -> list[str]:
    """A line for each pinned version that an advisory lists.

    >>> told = {"id": "X-1", "affected": [{"package": {"ecosystem": "PyPI", "name": "PyYAML"}, "versions": ["5.3"]}]}
    >>> weaknesses(told, {"pyyaml": "5.3"}), weaknesses(told, {"pyyaml": "6.0"})
    (['pyyaml 5.3: X-1'], [])
    """
    lines = []
    for affected in advisory.get("affected", []):  # type: ignore[attr-defined]
        package = affected.get("package", {})
        name = re.sub(r"[-_.]+", "-", str(package.get("name"))).lower()
        if package.get("ecosystem") == "PyPI" and versions.get(name) in affected.get("versions", []):
            lines.append(f"{name} {versions[name]}: {advisory.get('id')}")
    return lines


def main(folder: str, files: Iterable[str]) -> int:
    versions = {name: version for file in files for name, version in pinned(Path(file).read_text()).items()}
    advisories = sorted(Path(folder).rglob("*.json")) if folder else []
    if not advisories:
        print("no advisories are at hand: name a folder of OSV files in ADVISORIES")
        return 2
    lines = [line for path in advisories for line in weaknesses(json.loads(path.read_text()), versions)]
    print("\n".join([*sorted(set(lines)), f"{len(versions)} versions compared with {len(advisories):,} advisories"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
