"""Images and the workflow call the commands that the documents and the Makefile name."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"


def shell_lines(text: str, beginning: str) -> list[str]:
    """Lines of shell of a recipe, without its own words."""
    return [line.strip().removeprefix(beginning) for line in text.splitlines() if line.strip().startswith(beginning)]


def test_both_images_are_made_by_the_same_commands():
    docker = shell_lines((PACKAGING / "Dockerfile").read_text(), "RUN ")
    apptainer = (PACKAGING / "kernelpoint.def").read_text().partition("%post\n")[2].partition("\n\n")[0]
    assert [line.replace("${CHECKOUT}", "{{ checkout }}") for line in docker] == [
        line.strip() for line in apptainer.splitlines()
    ]


def test_the_workflow_calls_targets_that_the_makefile_has():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]
    called = {
        found
        for job in jobs.values()
        for step in job["steps"]
        for found in re.findall(r"make (\w+)", step.get("run", ""))
    }
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert called == {"test", "wheel"} and called <= targets


def test_images_are_built_from_what_the_source_archive_holds():
    manifest = (ROOT / "MANIFEST.in").read_text()
    assert all(f"graft {name}" in manifest for name in ("packaging", "requirements", "plugin"))
