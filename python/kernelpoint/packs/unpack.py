"""A pack unpacked: a folder with a list, traces, a plan and a configuration, from which the run can be made again."""

from __future__ import annotations

import io
import json
import lzma
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Any

import yaml

from kernelpoint.archive import SEAL_DIGITS, check_seal
from kernelpoint.errors import PlanError
from kernelpoint.files import open_output_bytes, open_regular, write_output
from kernelpoint.packs.pack import ABOUT, BLOCK, FOOTPRINTS, FORMAT_VERSION, HEAD, HEADS, LIST, PLAN, TRACES, TraceFile
from kernelpoint.traces.footprints import keep_footprints

CONFIGURATION = "kernelpoint.yaml"
SEAL = "pack.seal"  # last in a folder: the seal of its pack


def is_pack(path: Path) -> bool:
    """True if a file begins as a pack does, whole or not."""
    try:
        with open_regular(path) as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def unpack(path: Path, folder: Path) -> Path:
    """Write the files of a pack into a folder and its footprints into the cache. Returns the path of the trace list.

    The folder has `kernelpoint.yaml`, which names the plan, the list, and a file for each trace. It appears whole or not at
    all; one that this pack was unpacked into before is taken as it is.

    Raises:
        PlanError: the pack is damaged, of another version, or contains names outside its folder; or the folder is not
            empty.
        OSError: the folder cannot be written.
    """
    with _opened(path) as (archive, about, seal):
        listed = folder / about["list"]
        if (folder / SEAL).is_file() and (folder / SEAL).read_bytes() == seal:
            return listed
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise PlanError(f"{folder} is not empty; name a folder that is new")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as made:
            _write(archive, about, Path(made) / "made", folder)
            (Path(made) / "made" / SEAL).write_bytes(seal)
            (Path(made) / "made").replace(folder)
        with archive.open(FOOTPRINTS) as packed:
            rows = about["footprints"]
            keep_footprints((str(folder / name), residency, packed.read(size)) for name, residency, size in rows)
    return listed


def about_pack(path: Path) -> dict[str, Any]:
    """Description in a pack, as `write_pack` makes it. Raises PlanError if the pack is damaged or of another version."""
    with _opened(path) as (_, about, _seal):
        return about


@contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any], bytes]]:
    """Archive, description and seal of a pack whose seal is right."""
    try:
        with open_regular(path) as file:
            check_seal(file)
            file.seek(-SEAL_DIGITS, os.SEEK_END)
            seal = file.read()
            with zipfile.ZipFile(file) as archive:
                about = json.loads(archive.read(ABOUT))
                if about.get("version") != FORMAT_VERSION:
                    raise ValueError(f"pack format {about.get('version')!r:.40}; this version reads {FORMAT_VERSION}")
                yield archive, about, seal
    except PlanError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, EOFError, RecursionError, lzma.LZMAError) as error:
        raise PlanError(f"{path}: {' '.join(str(error).split())[:200]}") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise PlanError(f"{path}: not a readable pack ({' '.join(str(error).split())[:200]})") from None


def _write(archive: zipfile.ZipFile, about: dict[str, Any], place: Path, folder: Path) -> None:
    """Write all but the footprints into `place`, which becomes `folder`."""
    files = [TraceFile(**known) for known in about["files"]]
    for name in (about["list"], *(known.name for known in files)):
        within = PurePosixPath(name)
        if within.is_absolute() or ".." in within.parts or not name:
            raise ValueError(f"it holds the name {name[:80]!r}, which lies outside its folder")
    place.mkdir()
    with archive.open(HEADS) as heads:
        for known in files:
            if known.whole:
                with archive.open(TRACES + known.name) as trace:
                    _write_trace(trace, known, place / known.name)
            else:
                _write_trace(io.BytesIO(heads.read(min(known.size, HEAD))), known, place / known.name)
    write_output(place / about["list"], archive.read(LIST))
    write_output(place / PLAN, archive.read(PLAN))
    config = {**about["config"], "plan": str((folder / PLAN).absolute())}
    write_output(place / CONFIGURATION, yaml.safe_dump(config, sort_keys=False))


def _write_trace(content: IO[bytes], known: TraceFile, path: Path) -> None:
    """A trace with its size and time; one that is not whole ends in a hole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output_bytes(path) as file:
        shutil.copyfileobj(content, file, BLOCK)
        file.truncate(known.size)
    os.utime(path, ns=(known.time, known.time))
