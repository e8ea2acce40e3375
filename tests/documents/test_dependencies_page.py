"""Packages that `make` installs are pinned with hashes, and a page lists their licences."""

import re
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads pyproject.toml")

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "requirements").glob("*.txt"))


def pinned(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", path.read_text(), re.MULTILINE))


def spelt(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_package_that_make_installs_has_a_version_and_hashes(path):
    blocks = re.split(r"^(?=\S)", "\n".join(path.read_text().splitlines()[1:]), flags=re.MULTILINE)[1:]
    assert blocks
    for block in blocks:
        assert re.match(r"[\w.-]+==\S+", block) and re.search(r"--hash=sha256:[0-9a-f]{64}", block), block[:80]


def test_make_installs_nothing_that_is_not_pinned():
    installs = [line for line in (ROOT / "Makefile").read_text().splitlines() if "pip install" in line]
    assert installs and all("--require-hashes" in line or "--no-deps" in line for line in installs), installs


def test_the_versions_that_ci_tests_and_all_dependencies_of_the_package_are_pinned():
    locked = [path for path in FILES if path.name != "torch-cpu.txt"]
    everything = {spelt(name): version for path in locked for name, version in pinned(path).items()}
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE):
        assert everything[spelt(name)] == version, name
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    assert {spelt(re.split(r"[^\w.-]", each)[0]) for each in needed} <= set(everything)


def test_the_licence_of_every_package_that_a_run_needs_is_listed():
    rows = re.findall(
        r"^\| ([\w.-]+) \| (\S+) \| (.+?) \|", (ROOT / "requirements" / "README.md").read_text(), re.MULTILINE
    )
    listed = {spelt(name): version for name, version, licence in rows if licence != "not stated"}
    assert {spelt(name): version for name, version in pinned(ROOT / "requirements" / "run.txt").items()}.items() <= (
        listed.items()
    )
