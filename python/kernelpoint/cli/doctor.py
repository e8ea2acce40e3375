"""`kernelpoint doctor`: versions, paths, and whether a simulator can load the plugin here."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import kernelpoint
from kernelpoint.cli.console import say
from kernelpoint.errors import SetupError
from kernelpoint.extras import extra_of
from kernelpoint.patching.description import kept_at

PACKAGE = Path(kernelpoint.__file__).resolve().parent
PLUGIN = PACKAGE / "lib" / "libkernelpoint.so"
EMBEDDING = PACKAGE / "lib" / "libkernelpoint_embedding.so"
PROBE = PACKAGE / "bin" / "kernelpoint-probe"
DISTRIBUTIONS = ("numpy", "scikit-learn", "safetensors")
OPTIONAL = ("torch", "torch-geometric", "vl-convert-python")  # running does not need them
BUILD = "build it with `make build`, or reinstall kernelpoint"
PATIENCE_SECONDS = 120


@dataclass(frozen=True)
class DoctorLine:
    """One line of the output of `kernelpoint doctor`. `problem` has the fault and its remedy; empty if there is none."""

    name: str
    value: str
    problem: str = ""


def doctor(
    plugin: Annotated[bool, typer.Option("--plugin", help="Print only the path of the plugin.")] = False,
    include: Annotated[
        bool, typer.Option("--include", help="Print only the folder that a simulator's compiler searches (-I).")
    ] = False,
    schema: Annotated[
        bool,
        typer.Option("--schema", help="Write the JSON schema of kernelpoint.yaml, for editors, and print only its path."),
    ] = False,
) -> None:
    """Check that simulators can load KernelPoint here, and print versions and paths.

    Example: kernelpoint doctor
    """
    if plugin:
        if problem := _file("plugin", PLUGIN, BUILD).problem:
            raise SetupError(problem)
        say(PLUGIN)
        return
    if include:
        say(kept_at("include", "plugin/include"))
        return
    if schema:
        say(_written_schema())
        return
    problems = []
    for line in lines():
        say(f"{line.name:16} {line.value}{'   PROBLEM' if line.problem else ''}")
        problems += [line.problem] if line.problem else []
    if problems:
        raise SetupError("\n  ".join(["simulators cannot load KernelPoint here:", *problems]))
    say("Simulators can load KernelPoint here.")


def lines() -> Iterator[DoctorLine]:
    """Iterator over checks of the installation. Loading the plugin is the slowest check and comes last."""
    yield DoctorLine("kernelpoint", f"{kernelpoint.__version__} in {PACKAGE}")
    yield DoctorLine("python", f"{sys.version.split()[0]} in {sys.executable}")
    yield from map(_distribution, (*DISTRIBUTIONS, *OPTIONAL))
    for variable in ("KERNELPOINT_PLUGIN", "KERNELPOINT_PYTHON"):
        if value := os.environ.get(variable):
            yield DoctorLine(variable, value)
    plugin = _file("plugin", PLUGIN, BUILD)
    embedding = _file("embedding", EMBEDDING, why_no_embedding(sysconfig.get_config_var("Py_ENABLE_SHARED")))
    yield plugin
    yield embedding
    if not plugin.problem and not embedding.problem:
        yield _opening()


def why_no_embedding(shared: int | None) -> str:
    """Reason why the library that embeds Python in a simulator is missing, and the remedy.

    Args:
        shared: value of Python's build variable Py_ENABLE_SHARED.

    Example:
        >>> why_no_embedding(1)
        'reinstall kernelpoint: this Python can be embedded, but the embedding library was not built'
    """
    if shared:
        return "reinstall kernelpoint: this Python can be embedded, but the embedding library was not built"
    return (
        "this Python was built without a shared libpython (Py_ENABLE_SHARED=0), so it cannot run inside a simulator. "
        "Use one that has it: the system's python3 with its development package (python3-dev, python3-devel), conda's, "
        "or `PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install ...`; then reinstall kernelpoint with that Python"
    )


def _written_schema() -> Path:
    """The JSON schema of the installed version, in the cache folder."""
    # here, because what these import may be missing, which is for `lines` to say
    from kernelpoint.config.reference import json_schema
    from kernelpoint.files import replacing
    from kernelpoint.traces.cache import cache_folder

    path = cache_folder() / "kernelpoint.schema.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(json.dumps(json_schema(), indent=1).encode())
    return path


def _distribution(name: str) -> DoctorLine:
    """An installed package, or a missing one with what brings it."""
    try:
        return DoctorLine(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        if name in OPTIONAL:
            brought = f"pip install '.[{extra_of(name)}]' in KernelPoint's folder brings it"
            return DoctorLine(name, f"not installed; running does not need it; {brought}")
        return DoctorLine(name, "missing", f"{name} is not installed: pip install {name}")


def _file(name: str, path: Path, remedy: str) -> DoctorLine:
    return DoctorLine(name, str(path), "" if path.is_file() else f"{path} is missing: {remedy}")


def _opening() -> DoctorLine:
    """Open the plugin in a process that is no Python, as a simulator would."""
    if not PROBE.is_file():
        return DoctorLine("opening", "not tried", f"{PROBE} is missing: build it with `make build`")
    with tempfile.TemporaryDirectory(prefix="kernelpoint-doctor-") as folder:
        config = Path(folder) / "probe.yaml"
        config.write_text(f"version: 1\npolicy: all\njournal: {folder}/probe.kpjournal\n")
        try:
            done = subprocess.run(
                [str(PROBE), str(PLUGIN), str(config)],
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
                cwd=folder,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return DoctorLine("opening", "no answer", f"the plugin did not open within {PATIENCE_SECONDS} seconds")
    if done.returncode == 0:
        return DoctorLine("opening", f"works, with {done.stdout.strip().splitlines()[-1]}")
    reason = done.stderr.strip() or f"the process ended with code {done.returncode}"
    return DoctorLine("opening", "failed", f"the plugin does not open: {reason}")
