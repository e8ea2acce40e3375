"""A pack unpacked: a folder with a list, traces, a plan and a configuration, from which the run can be made again."""

from __future__ import annotations

import io
import json
import lzma
import os
import shutil
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO, Any

import yaml

from kernelpoint.archive import check_seal
from kernelpoint.errors import PlanError
from kernelpoint.files import open_output_bytes, open_regular, write_output
from kernelpoint.packs.pack import ABOUT, BLOCK, FOOTPRINTS, FORMAT_VERSION, HEAD, HEADS, LIST, PLAN, TRACES, TraceFile
from kernelpoint.traces.footprints import FootprintStore

CONFIGURATION = "kernelpoint.yaml"


def is_pack(path: Path) -> bool:
    """True if a file begins as a pack does, whole or not."""
    try:
        with open_regular(path) as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def unpack(path: Path, folder: Path) -> Path:
    """Write the files of a pack into a folder and its footprints into the cache. Returns the path of the trace list.

    The folder has `kernelpoint.yaml`, which names the plan, the list, and a file for each trace.

    Raises:
        PlanError: the pack is damaged, of another version, or contains names outside its folder; or the folder is not
            empty.
        OSError: the folder cannot be written.
    """
    try:
        with open_regular(path) as file:
            check_seal(file)
            with zipfile.ZipFile(file) as archive:
                about = json.loads(archive.read(ABOUT))
                if about.get("version") != FORMAT_VERSION:
                    raise ValueError(f"pack format {about.get('version')!r:.40}; this version reads {FORMAT_VERSION}")
                return _write(archive, about, folder)
    except PlanError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, EOFError, RecursionError, lzma.LZMAError) as error:
        raise PlanError(f"{path}: {' '.join(str(error).split())[:200]}") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise PlanError(f"{path}: not a readable pack ({' '.join(str(error).split())[:200]})") from None


def _write(archive: zipfile.ZipFile, about: dict[str, Any], folder: Path) -> Path:
    files = [TraceFile(**known) for known in about["files"]]
    for name in (about["list"], *(known.name for known in files)):
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or not name:
            raise ValueError(f"it holds the name {name[:80]!r}, which lies outside its folder")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise PlanError(f"{folder} is not empty; name a folder that is new")
    with archive.open(HEADS) as heads:
        for known in files:
            if known.whole:
                with archive.open(TRACES + known.name) as trace:
                    _write_trace(trace, known, folder / known.name)
            else:
                _write_trace(io.BytesIO(heads.read(min(known.size, HEAD))), known, folder / known.name)
    write_output(folder / about["list"], archive.read(LIST))
    write_output(folder / PLAN, archive.read(PLAN))
    config = {**about["config"], "plan": str((folder / PLAN).absolute())}
    write_output(folder / CONFIGURATION, yaml.safe_dump(config, sort_keys=False))
    with archive.open(FOOTPRINTS) as packed:
        rows = about["footprints"]
        FootprintStore.keep((str(folder / name), residency, packed.read(size)) for name, residency, size in rows)
    return folder / about["list"]


def _write_trace(content: IO[bytes], known: TraceFile, path: Path) -> None:
    """A trace with its size and time; one that is not whole ends in a hole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output_bytes(path) as file:
        shutil.copyfileobj(content, file, BLOCK)
        file.truncate(known.size)
    os.utime(path, ns=(known.time, known.time))
