"""Members of a pack and the schema of its description, with limits on every field because a pack may be hostile."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Any

from kernelpoint.archive import damaged
from kernelpoint.config import Config, parse_config
from kernelpoint.errors import ConfigError, shown
from kernelpoint.file_names import BESIDE, name_problem
from kernelpoint.typed import Length, Mismatch, Range, loads, reader

FORMAT_VERSION = 2
ABOUT, PLAN, LIST = "about.json", "sample.kpplan", "list"  # members
TRACES, HEADS, FOOTPRINTS = "traces/", "heads", "footprints"
CONFIGURATION, SEAL = "kernelpoint.yaml", "pack.seal"  # files of the folder that a pack is unpacked into
HEAD = 4096  # bytes of a trace that is not simulated: its header

MOST_ABOUT = 16 << 20  # bytes of the description, which takes up to 35 times as much memory
FREE_LIST = 64 << 20  # bytes of the list, unless more is asked for: some millions of launches
FREE_ABOUT, ABOUT_RATIO = 1 << 20, 20  # it has at most so many bytes, or so many times those of the pack
MOST_TRACES = 200_000
MOST_TRACE = 64 << 30  # bytes of one trace, whole or not
MOST_FOOTPRINT = 256 << 20  # bytes of one footprint

# Keys of a configuration that a pack may have: none of them names a file, or makes one.
_KEYS = (
    "version",
    "policy",
    "error_budget",
    "assume",
    "replay",
    "launch_latency",
    "on_error",
    "seed",
)
# Keys that may name a file, and the values that do not.
_NAMES = {"fast_model": ("auto", "off", "v100", "rtx"), "ranges": ("names", "detected")}

Name = Annotated[str, Length(most=1000)]


@dataclass(frozen=True)
class TraceFile:
    """Trace in a pack (archive of a run with its traces).

    Its fields are the path below the folder of the list, the size in bytes, the modification time in ns, and whether the trace
    is complete.
    """

    name: Name
    size: Annotated[int, Range(0, MOST_TRACE + 1)]
    time: Annotated[int, Range(0, 1 << 62)]
    whole: bool


def _limits(text: Any) -> Any:
    """Refuse text that does not state the limits of a simulated GPU."""
    if isinstance(text, str) and not re.fullmatch(r"[0-9]{1,10}(,[0-9]{1,10}){4},(True|False)", text):
        raise Mismatch("expected five numbers, and True or False", text)
    return text


@dataclass(frozen=True)
class PackedFootprint:
    """Footprint (list of the memory sectors that a launch accesses) in a pack (archive of a run): path of its trace, limits of
    the simulated GPU as text, size in bytes.
    """

    trace: Name
    residency: Annotated[str, _limits]
    size: Annotated[int, Range(0, MOST_FOOTPRINT + 1)]


@dataclass(frozen=True)
class About:
    """Description of the content of a pack (archive of a run with its traces).

    Attributes:
        config: configuration of the run, as keys of `kernelpoint.yaml`.
        list: file name of the trace list.
        files: distinct traces of the list.
        footprints: lists of accessed memory sectors, for traces that are not complete.
        estimate: estimate of the run, or None.
    """

    version: int
    kernelpoint: Annotated[str, Length(most=40)]
    config: dict[str, Any]
    list: Annotated[str, Length(most=255)]
    files: Annotated[tuple[TraceFile, ...], Length(most=MOST_TRACES)]
    footprints: Annotated[tuple[PackedFootprint, ...], Length(most=4 * MOST_TRACES)]
    estimate: float | None
    counter: Annotated[str, Length(most=200)]


def read_about(text: bytes) -> About:
    """Parse and check the description in a pack (archive of a run with its traces).

    Raises:
        ValueError: the description has another version or content that is not allowed; the message names the place.
    """
    try:
        content = loads(text)
    except ValueError:
        raise damaged(f"its description {ABOUT} is not JSON") from None
    version = content.get("version") if isinstance(content, dict) else None
    if type(version) is not int:
        raise damaged(f"its description {ABOUT} states no format version")
    if version != FORMAT_VERSION:
        raise ValueError(
            f"the pack (archive of a run) has format version {shown(version)}, this KernelPoint reads {FORMAT_VERSION}; make "
            "it again with `kernelpoint file pack` of this version"
        )
    try:
        about: About = reader(About)(content)
    except Mismatch as error:
        raise damaged(f"{'.'.join(error.place)[:80] or ABOUT} is {shown(error.value)}, but {error}") from None
    _check_names(about)
    check_config(about.config)
    return about


def _check_names(about: About) -> None:
    """Check the names of members; raises ValueError for a forbidden name, a path outside the folder, and a duplicate."""
    places = {name.casefold(): "a file of the pack's own" for name in (PLAN, CONFIGURATION, SEAL, BESIDE)}
    folders: dict[str, str] = {}
    if "/" in about.list:
        raise damaged(f"it names its trace list {shown(about.list)}; allowed: a file name without a folder")
    for name in (about.list, *(file.name for file in about.files)):
        if problem := name_problem(name):
            raise ValueError(problem)
        path = PurePosixPath(name)
        if path.is_absolute() or str(path) != name or name == ".":
            raise damaged(f"it names a file {shown(name)}; allowed: a relative path within its folder, without . and ..")
        if (other := places.get(name.casefold())) is not None:
            raise damaged(f"it names a file {shown(name)}, which would overwrite {other}")
        places[name.casefold()] = shown(name)
        folders |= {str(parent).casefold(): shown(name) for parent in path.parents if str(parent) != "."}
    if both := sorted(places.keys() & folders.keys()):
        raise damaged(f"it has the name {shown(both[0])} for a file and also for the folder of {folders[both[0]]}")
    wanting = {file.name for file in about.files if not file.whole}
    for row in about.footprints:
        if row.trace not in wanting:
            raise damaged(f"it has memory addresses of the trace {shown(row.trace)}, which it also contains whole")


def check_config(config: dict[str, Any]) -> Config:
    """Check the configuration in a pack (archive of a run with its traces).

    Raises:
        ValueError: the configuration has a key that is not allowed in a pack, or a value that names a file.

    >>> check_config({"version": 1, "policy": "random", "journal": ".bash_profile"})
    Traceback (most recent call last):
    ...
    ValueError: the file is damaged or forged: the configuration in it has the key 'journal'; allowed: version, policy, ...
    """
    for key, value in config.items():
        if key not in _KEYS and key not in _NAMES:
            raise damaged(f"the configuration in it has the key {shown(key)}; allowed: {', '.join((*_KEYS, *_NAMES))}")
        if key in _NAMES and value not in _NAMES[key]:
            raise damaged(f"the configuration in it has {key}: {shown(value)}; allowed: {', '.join(_NAMES[key])}")
    try:
        return parse_config(config, "its configuration")
    except ConfigError as error:
        raise ValueError(str(error)) from None


def packed_config(config: Config) -> dict[str, Any]:
    """Configuration to store in a pack (archive of a run with its traces): keys whose value is not the default.

    Keys for files of one machine (plan, journal, resume) are left out.

    Raises:
        ConfigError: the run read a file that a pack cannot contain; the message names the key.

    >>> packed_config(parse_config({"version": 1, "policy": "random", "seed": 3, "journal": "mine.kpjournal"}))
    {'version': 1, 'policy': 'random', 'seed': 3}
    """
    stated, usual = config.written(), Config(version=1, policy=config.policy).written()
    others = {key: value for key, value in stated.items() if value != usual[key]}
    for key in ("profile", "selection", "results_from", "ranges"):
        if key in others and others[key] not in _NAMES.get(key, ()):
            raise ConfigError(
                f"this run cannot be packed: its configuration has {key}: {shown(others[key])}, a file that a pack cannot "
                f"contain; remove `{key}:`, run again, and pack that run"
            )
    if config.encoder.checkpoint != "builtin":
        raise ConfigError(
            f"this run cannot be packed: it used the encoder {shown(config.encoder.checkpoint)}; set `encoder: "
            f"{{checkpoint: builtin}}`, run again, and pack that run"
        )
    taken = {key: value for key, value in others.items() if key in _KEYS or value in _NAMES.get(key, ())}
    return {"version": 1, "policy": stated["policy"]} | taken
