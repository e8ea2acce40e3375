"""A pack (`.kppack`): the sample of a run in one file, for another machine.

A zip archive under the seal of `archive.py`. It contains the trace list, the plan, the configuration, and the traces
of all simulated launches. Of the others it contains the first bytes and the footprints, which replay needs. Unpacked,
the others are sparse files of the same size and time: the list, the plan and the footprints name them, and nothing simulates
them.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kernelpoint import __version__
from kernelpoint.archive import seal
from kernelpoint.config import parse_config
from kernelpoint.errors import ConfigError, shown
from kernelpoint.files import open_regular, replacing
from kernelpoint.journal import Run
from kernelpoint.packs.contents import (
    ABOUT,
    FOOTPRINTS,
    FORMAT_VERSION,
    HEAD,
    HEADS,
    LIST,
    PLAN,
    TRACES,
    About,
    PackedFootprint,
    TraceFile,
    packed_config,
    read_about,
)
from kernelpoint.traces import read_trace_list
from kernelpoint.traces.replay import kept_footprints

BLOCK = 1 << 20
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)  # equal content, equal file


@dataclass(frozen=True)
class Packed:
    """Counts of the content of a pack (archive of a run with its traces): launches in the list, launches simulated, distinct
    traces, complete traces, traces stored only as lists of accessed memory sectors (footprints), and bytes.
    """

    launches: int
    simulated: int
    traces: int
    whole: int
    footprints: int
    size: int


def write_pack(run: Run, path: Path) -> Packed:
    """Write a pack of a finished run: an archive of its traces, plan and configuration, from which the run can be repeated.

    Raises:
        ConfigError: the run cannot be packed: it has several applications, a profile or a selection, no list file, or no plan.
        JournalError: the run has not ended.
        OSError: a trace cannot be read, or the pack cannot be written.
    """
    run.ended()
    list_path = _list_of(run)
    paths = read_trace_list(str(list_path)).traces
    units = run.results.keys() | {record.launch for record in run.validations}
    whole = {paths[unit] for unit in units}
    files = {name: _file(name, list_path.parent, name in whole) for name in paths.distinct}
    footprints = list(kept_footprints([path for path, file in files.items() if not file.whole]))
    description = _description(run, list_path, files, footprints)
    with replacing(path) as file:
        with zipfile.ZipFile(file, "w") as archive:
            _add(archive, ABOUT, [description])
            for name, place in ((LIST, list_path), (PLAN, Path(str(run.frozen.plan)))):
                with open_regular(place) as content:
                    _add(archive, name, iter(partial(content.read, BLOCK), b""))
            for name in (name for name, trace_file in files.items() if trace_file.whole):
                with open_regular(name) as trace:
                    _add(archive, TRACES + files[name].name, iter(partial(trace.read, BLOCK), b""))
            _add(archive, HEADS, (_head(name) for name, trace_file in files.items() if not trace_file.whole))
            _add(archive, FOOTPRINTS, (packed for _, _, packed in footprints))
        size = seal(file)
    return Packed(len(paths), len(units), len(files), len(whole), len(footprints), size)


def _description(run: Run, list_path: Path, files: dict[str, TraceFile], footprints: list[tuple[str, str, bytes]]) -> bytes:
    about = About(
        version=FORMAT_VERSION,
        kernelpoint=__version__,
        config=_config(run),
        list=list_path.name,
        files=tuple(files.values()),
        footprints=tuple(
            PackedFootprint(trace=files[name].name, residency=residency, size=len(packed))
            for name, residency, packed in footprints
        ),
        estimate=run.ended().estimate,
        counter=run.ended().counter,
    )
    text = json.dumps(about, default=vars, separators=(",", ":")).encode()
    try:
        read_about(text)
    except ValueError as error:
        raise ConfigError(f"the run of the list {list_path} cannot be packed: {error}") from None
    return text


def _list_of(run: Run) -> Path:
    """The trace list of a run that can be packed."""
    lists = [name for name in run.header.host.lists if name]
    if len(lists) != 1 or Path(lists[0]).suffix != ".g":
        raise ConfigError(
            f"{run.path}: this run cannot be packed: it has the trace lists {shown(lists)}; allowed: one "
            "kernelslist.g. Pack a run of one list"
        )
    for what, name in (("list", lists[0]), ("plan", run.frozen.plan)):
        if name is None:
            raise ConfigError(
                f"{run.path}: this run cannot be packed, because its plan was not saved as a file; run again, or make a plan "
                "with `kernelpoint plan` and run with `plan:`"
            )
        if not Path(name).is_file():
            raise ConfigError(
                f"{run.path}: the {what} of this run, {name}, is not there (relative paths begin at {Path.cwd()}); call "
                "`kernelpoint file pack` on the machine of the run, in the folder where it was started"
            )
    return Path(lists[0])


def _file(path: str, folder: Path, whole: bool) -> TraceFile:
    status, place = Path(path).stat(), Path(path).absolute()
    if not place.is_relative_to(folder.absolute()):
        raise ConfigError(
            f"this run cannot be packed: the trace {path} is not in {folder}, the folder of its list; move or link it there, "
            "correct the list, and run again"
        )
    name = str(place.relative_to(folder.absolute()))
    return TraceFile(name=name, size=status.st_size, time=max(status.st_mtime_ns, 0), whole=whole)


def _config(run: Run) -> dict[str, object]:
    try:
        return packed_config(parse_config(dict(run.header.config)))
    except ConfigError as error:
        raise ConfigError(f"{run.path}: {error}") from None


def _head(path: str) -> bytes:
    """Read the first bytes of a trace."""
    with open_regular(path) as file:
        return file.read(HEAD)


def _add(archive: zipfile.ZipFile, name: str, parts: Iterable[bytes]) -> None:
    """Write several small parts as one member, which compresses better than one member for each."""
    entry = zipfile.ZipInfo(name, _FIRST_DATE)
    entry.compress_type = zipfile.ZIP_LZMA
    with archive.open(entry, "w", force_zip64=True) as member:
        for part in parts:
            member.write(part)
