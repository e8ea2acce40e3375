"""Programs of C++ sources under the sanitisers: each object file is compiled once, and again when what it reads changes."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugin"
OBJECTS = ROOT / "build" / "sanitised"
COMPILER = os.environ.get("CXX", "c++")
SANITISERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FLAGS = [*SANITISERS, "-g", "-O1", "-std=c++17", f"-I{PLUGIN}", f"-I{PLUGIN / 'include'}"]


def program(main: Path, parts: Iterable[str], output: Path) -> Path:
    """`main` linked with all sources below plugin/native/PART; skips the test where that cannot be done on this machine."""
    if shutil.which(COMPILER) is None or not (PLUGIN / "native").exists():
        pytest.skip(f"no C++ compiler ({COMPILER}) or no C++ sources here")
    sources = [main, *(path for part in parts for path in sorted((PLUGIN / "native" / part).rglob("*.cc")))]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        objects = list(threads.map(_object, sources))
    done = subprocess.run(
        [COMPILER, *SANITISERS, *objects, "-ldl", "-pthread", "-o", output], capture_output=True, text=True, timeout=300
    )
    if "cannot find -lasan" in done.stderr or "cannot find -lubsan" in done.stderr:
        pytest.skip(f"{COMPILER} has no address and undefined behaviour sanitisers")
    assert done.returncode == 0, done.stderr
    return output


def _object(source: Path) -> Path:
    """The object file of a source, compiled if it is not there yet."""
    key = hashlib.blake2b(_headers() + source.read_bytes() + " ".join(FLAGS).encode(), digest_size=12).hexdigest()
    path = OBJECTS / f"{source.stem}-{key}.o"
    if not path.exists():
        OBJECTS.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        command = [COMPILER, *FLAGS, "-x", "c++", "-c", source, "-o", unfinished]
        done = subprocess.run(command, capture_output=True, text=True, timeout=400)
        assert done.returncode == 0, done.stderr
        unfinished.replace(path)
    return path


@cache
def _headers() -> bytes:
    """A digest of the compiler's version and of every header that a source may read."""
    digest = hashlib.blake2b(subprocess.run([COMPILER, "--version"], capture_output=True).stdout)
    for path in sorted([*PLUGIN.rglob("*.h"), *PLUGIN.rglob("*.hpp"), *(ROOT / "tests").rglob("*.h")]):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.digest()
