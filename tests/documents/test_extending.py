"""The packages of docs/extending.md: each is installed as it stands there, and the commands of its section are run."""

import re
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```(?:python|toml)\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GROUP = re.compile(r'\[project\.entry-points\."(.*?)"\]\n(.*)')
SECTIONS = {title: text for title, text in SECTION.findall(PAGE.read_text(encoding="utf-8")) if "pyproject.toml" in text}


def install(text: str, folder: Path) -> None:
    """Write the files of a section, and what an installer leaves of them."""
    files = dict(FILE.findall(text))
    for name, content in files.items():
        (folder / name).write_text(content)
    (group,) = GROUP.findall(files["pyproject.toml"])
    information = folder / "newcomer-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: newcomer\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[{group[0]}]\n{group[1].replace(chr(34), '')}\n")


@pytest.mark.parametrize("title", SECTIONS)
def test_a_package_of_the_page_works_as_the_page_says(title, folder, monkeypatch):
    install(SECTIONS[title], folder)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    (commands,) = COMMANDS.findall(SECTIONS[title])
    done = subprocess.run(["sh", "-e", "-c", commands], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_every_part_that_an_entry_point_finds_is_on_the_page():
    groups = {group[0] for text in SECTIONS.values() for group in GROUP.findall(text)}
    assert groups == {"kernelpoint.policies", "kernelpoint.profiles", "kernelpoint.ranges"}
