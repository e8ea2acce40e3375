"""A pack (`.kppack`): the sample of a run in one file, for another machine.

A zip archive under the seal of `archive.py`. It contains the trace list, the plan, the configuration, and the traces
of all simulated launches. Of the others it contains the first bytes and the footprints, which replay needs. Unpacked,
the others are
files of their size and time with a hole in them: lists, plans and footprints know them, and nothing simulates them.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kernelpoint import __version__
from kernelpoint.archive import seal
from kernelpoint.config import Config, parse_config
from kernelpoint.errors import ConfigError, shown
from kernelpoint.files import open_regular, replacing
from kernelpoint.journal import ResultRecord, Run, ValidationRecord
from kernelpoint.traces import launch_paths
from kernelpoint.traces.footprints import kept_footprints

FORMAT_VERSION = 1
ABOUT, PLAN, LIST = "about.json", "sample.kpplan", "list"
TRACES, HEADS, FOOTPRINTS = "traces/", "heads", "footprints"
BLOCK = 1 << 20
HEAD = 4096  # bytes of a trace that is not simulated: its header
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)  # equal content, equal file
_ITSELF = ("plan", "journal", "resume")  # keys that an unpacked run has of its own


@dataclass(frozen=True)
class TraceFile:
    """A trace: its name below the folder of the list, bytes, time of change in ns, and whether the pack has it whole."""

    name: str
    size: int
    time: int
    whole: bool


@dataclass(frozen=True)
class Packed:
    """Counts of a pack: launches of the list, simulated ones, distinct traces, whole ones among them, footprints, bytes."""

    launches: int
    simulated: int
    traces: int
    whole: int
    footprints: int
    size: int


def write_pack(run: Run, path: Path) -> Packed:
    """Write the pack of a finished run whose traces are on this machine.

    Raises:
        ConfigError: the run cannot be packed: several applications, no list file, a profile or a selection, or no plan.
        JournalError: the run has not ended. OSError: a trace cannot be read, or the pack cannot be written.
    """
    run.ended()
    list_path = _list_of(run)
    paths = launch_paths(str(list_path))
    units = {run.unit(record) for record in run.of(ResultRecord)} | {
        record.launch for record in run.of(ValidationRecord)
    }
    whole = {paths[unit] for unit in units}
    files = {name: _file(name, list_path.parent, name in whole) for name in dict.fromkeys(paths)}
    footprints = list(kept_footprints(list(files)))
    about = {
        "version": FORMAT_VERSION,
        "kernelpoint": __version__,
        "config": _config(run),
        "list": list_path.name,
        "files": [asdict(file) for file in files.values()],
        "footprints": [[files[name].name, residency, len(packed)] for name, residency, packed in footprints],
        "estimate": run.ended().estimate,
        "counter": run.ended().counter,
    }
    with replacing(path) as file:
        with zipfile.ZipFile(file, "w") as archive:
            _add(archive, ABOUT, [json.dumps(about).encode()])
            for name, place in ((LIST, list_path), (PLAN, Path(str(run.frozen.plan)))):
                with open_regular(place) as content:
                    _add(archive, name, iter(partial(content.read, BLOCK), b""))
            for name in (name for name, known in files.items() if known.whole):
                with open_regular(name) as trace:
                    _add(archive, TRACES + files[name].name, iter(partial(trace.read, BLOCK), b""))
            _add(archive, HEADS, (_head(name) for name, known in files.items() if not known.whole))
            _add(archive, FOOTPRINTS, (packed for _, _, packed in footprints))
        size = seal(file)
    return Packed(len(paths), len(units), len(files), len(whole), len(footprints), size)


def _list_of(run: Run) -> Path:
    """The trace list of a run that can be packed."""
    lists = [name for name in run.header.host.lists if name] if run.header.host else []
    if len(lists) != 1 or not Path(lists[0]).is_file() or Path(lists[0]).suffix != ".g":
        raise ConfigError(
            f"{run.path}: got the lists {shown(lists)}; a pack is of one application with a kernelslist.g on this machine"
        )
    for key in ("profile", "selection"):
        if run.header.config.get(key) is not None:
            raise ConfigError(f"{run.path}: {key}: got {shown(run.setting(key))}; a pack is of a run without one")
    if run.frozen.plan is None or not Path(run.frozen.plan).is_file():
        raise ConfigError(
            f"{run.path}: its plan ({run.frozen.plan or 'none was kept'}) is not there; run again, or name one with `plan:`"
        )
    return Path(lists[0])


def _file(path: str, folder: Path, whole: bool) -> TraceFile:
    status, place = Path(path).stat(), Path(path).absolute()
    if not place.is_relative_to(folder.absolute()):
        raise ConfigError(f"{path} lies outside the folder of its list, {folder}; such a list cannot be packed")
    return TraceFile(str(place.relative_to(folder.absolute())), status.st_size, status.st_mtime_ns, whole)


def _config(run: Run) -> dict[str, Any]:
    """The keys of the configuration that are not defaults, as a user would write them."""
    stated = parse_config(dict(run.header.config)).model_dump()
    usual = Config(version=1, policy=stated["policy"]).model_dump()
    return {"version": 1, "policy": stated["policy"]} | {
        key: value for key, value in stated.items() if value != usual[key] and key not in _ITSELF
    }


def _head(path: str) -> bytes:
    """The first bytes of a trace."""
    with open_regular(path) as file:
        return file.read(HEAD)


def _add(archive: zipfile.ZipFile, name: str, parts: Iterable[bytes]) -> None:
    """Write a member; many small parts in one member are smaller, and quicker to compress, than each by itself."""
    entry = zipfile.ZipInfo(name, _FIRST_DATE)
    entry.compress_type = zipfile.ZIP_LZMA
    with archive.open(entry, "w", force_zip64=True) as member:
        for part in parts:
            member.write(part)
