"""Images and the workflow call the commands that the Makefile names; packages are pinned, and a page lists licences."""

import json
import re
import sys
from pathlib import Path

import pytest
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


def test_each_release_in_the_changelog_takes_two_kilobytes_at_most():
    releases = re.split(r"^(?=## )", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert len(releases) >= 3 and all(len(text.encode()) <= 2048 for text in releases)


def test_the_workflow_calls_targets_that_the_makefile_has():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]
    called = {
        target for job in jobs.values() for step in job["steps"] for target in re.findall(r"make (\w+)", step.get("run", ""))
    }
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert called == {"test", "wheel", "sbom"} and called <= targets


def test_the_workflow_names_actions_by_commit_and_a_build_has_pinned_tools():
    used = re.findall(r"uses: (\S+)", (ROOT / ".github" / "workflows" / "test.yml").read_text())
    assert used and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) for action in used)
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert set(tools) <= set((ROOT / "constraints.txt").read_text().splitlines()) and len(tools) == 2


def test_versions_with_a_known_weakness_are_found_offline(tmp_path):
    sys.path.append(str(ROOT / "tests" / "setup"))
    import advisories

    (tmp_path / "requirements.txt").write_text("numpy==2.1.0 \\\n    --hash=sha256:00\nPy_YAML==6.0 ; python_version > '3'\n")
    files = [str(tmp_path / "requirements.txt")]
    assert advisories.main("", files) == advisories.main(str(tmp_path), files) == 2
    affected = [{"package": {"ecosystem": "PyPI", "name": "py.yaml"}, "versions": ["5.9", "6.0"]}]
    (tmp_path / "X-1.json").write_text(json.dumps({"id": "X-1", "affected": affected}))
    assert advisories.main(str(tmp_path), files) == 1
    (tmp_path / "X-1.json").write_text(json.dumps({"id": "X-1", "affected": []}))
    assert advisories.main(str(tmp_path), files) == 0


def test_images_are_built_from_what_the_source_archive_holds():
    manifest = (ROOT / "MANIFEST.in").read_text()
    assert all(f"graft {name}" in manifest for name in ("packaging", "requirements", "plugin"))


tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads pyproject.toml")

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
    rows = re.findall(r"^\| ([\w.-]+) \| (\S+) \| (.+?) \|", (ROOT / "requirements" / "README.md").read_text(), re.MULTILINE)
    listed = {spelt(name): version for name, version, licence in rows if licence != "not stated"}
    assert {spelt(name): version for name, version in pinned(ROOT / "requirements" / "run.txt").items()}.items() <= (
        listed.items()
    )
