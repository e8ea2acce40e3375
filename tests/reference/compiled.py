"""Programs and libraries of C and C++ sources: an object file is compiled again only if a file that it includes has changed.

Whole programs that other means build (a simulator's Makefile) are kept in the same way: see :func:`built_once`.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugin"
OBJECTS = ROOT / "build" / "test-objects"
COMPILER = os.environ.get("CXX", "c++")
# Folders of plugin/ that need no Python. Of each one unit is made: all of them in one would declare some names twice.
WITHOUT_PYTHON = ["native", "fast_model", *sorted(path.relative_to(PLUGIN).as_posix() for path in PLUGIN.glob("simulators/*"))]
SANITISERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]  # all diagnostics are fatal
INCLUDES = [f"-I{PLUGIN}", f"-I{PLUGIN / 'include'}", f"-I{PLUGIN / 'include' / 'kernelpoint'}"]


def sources(folder: str) -> list[Path]:
    """All C++ sources below a folder of plugin/, but those of Python's module."""
    return [path for path in sorted((PLUGIN / folder).rglob("*.cc")) if path.parent.name != "bindings"]


def _unit(folder: str) -> Path:
    """One file that includes all sources below a folder of plugin/: what their headers declare is compiled once."""
    path = OBJECTS / f"{folder.replace('/', '_')}.cc"
    text = "".join(f'#include "{source.relative_to(PLUGIN)}"\n' for source in sources(folder))
    with locked(path):
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    return path


def program(
    main: Iterable[Path],
    folders: Iterable[str],
    output: Path,
    flags: Sequence[str] = ("-O0",),
    link: Sequence[str] = (),
) -> Path:
    """The sources of `main` linked with all below folders of plugin/; skips the test where that cannot be done."""
    if shutil.which(COMPILER) is None or not PLUGIN.exists():
        pytest.skip(f"no C++ compiler ({COMPILER}) or no C++ sources here")
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        objects = list(threads.map(lambda source: _object(source, flags), [*main, *map(_unit, folders)]))
    command = [COMPILER, *flags, *objects, *link, "-ldl", "-pthread", "-o", output]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if "cannot find -lasan" in done.stderr or "cannot find -lubsan" in done.stderr:
        pytest.skip(f"{COMPILER} has no address and undefined behaviour sanitisers")
    assert done.returncode == 0, done.stderr
    return output


def sanitised(main: Sequence[Path], output: Path, link: Sequence[str] = ()) -> Path:
    """`main` with all that needs no Python, under the sanitisers: one set of options, so each unit is compiled once for all.

    Undefined behaviour ends the program with an illegal instruction, which compiles faster than a message for each place;
    ASAN_OPTIONS=handle_sigill=2 shows the line.
    """
    return program(main, WITHOUT_PYTHON, output, [*SANITISERS, "-fsanitize-undefined-trap-on-error", "-g1", "-O0"], link)


def _object(source: Path, flags: Sequence[str]) -> Path:
    """The object file of a source, compiled if it is not there yet."""
    language = ["-x", "c"] if source.suffix == ".c" else ["-x", "c++", "-std=c++17"]
    options = [*language, *INCLUDES, *flags]
    key = hashlib.blake2b(_compiler() + " ".join(options).encode(), digest_size=12)
    for path in sorted(read_by(source)):
        key.update(f"{path.name}\0".encode() + path.read_bytes())
    path = OBJECTS / f"{source.stem}-{key.hexdigest()}.o"
    with locked(path):
        if not path.exists():
            unfinished = path.with_suffix(".unfinished")
            command = [COMPILER, *options, "-c", source, "-o", unfinished]
            done = subprocess.run(command, capture_output=True, text=True, timeout=400)
            assert done.returncode == 0, done.stderr
            unfinished.replace(path)
    return path


@cache
def read_by(source: Path) -> frozenset[Path]:
    """A source and every file of ours that it includes, by way of others too."""
    names = re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', source.read_text(), re.MULTILINE)
    places = (source.parent, *(Path(option.removeprefix("-I")) for option in INCLUDES))
    headers = {place / name for name in names for place in places if (place / name).is_file()}
    return frozenset({source}.union(*(read_by(path.resolve()) for path in headers)))


def built_once(name: str, checkout: Path, how: Sequence[str], build: Callable[[], Path]) -> Path:
    """The program that `build()` makes of a checkout, built once for the same files and the same words `how`."""
    digest = hashlib.blake2b(_compiler() + " ".join(how).encode(), digest_size=12)
    for header in sorted([*PLUGIN.rglob("*.h"), *PLUGIN.rglob("*.hpp")]):
        digest.update(header.name.encode() + header.read_bytes())
    for file in sorted(path for path in checkout.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(checkout)}\0".encode() + file.read_bytes())
    path = OBJECTS / f"{name}-{digest.hexdigest()}"
    with locked(path):
        if not path.exists():
            unfinished = path.with_suffix(".unfinished")
            shutil.copy2(build(), unfinished)
            unfinished.replace(path)
    return path


def library(source: Path, output: Path) -> Path:
    """A source as a shared library, to be loaded or preloaded."""
    return program([source], [], output, ["-O1", "-fPIC", "-Wall", "-Wextra", "-Werror"], ["-shared"])


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keeps other processes from making the same file meanwhile: tests may run in several."""
    OBJECTS.mkdir(parents=True, exist_ok=True)
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def _compiler() -> bytes:
    """Its version."""
    return subprocess.run([COMPILER, "--version"], capture_output=True).stdout
