"""The PyTorch profiler's trace (Kineto, Chrome trace format): JSON of any size, read event by event."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.format import NOT_THIS, STRUCTURE, Beginning, TextFormat
from kernelpoint.profiles.tables import shape
from kernelpoint.program import UNKNOWN, Program, ProgramBuilder

CHUNK = 1 << 20
CALLS = ("cuda_runtime", "cuda_driver")  # categories of calls
REPLAYS = ("cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch")
LARGEST_EVENT = 64 << 20  # characters; an event that is longer is taken for damage


class Kineto(TextFormat):
    """Format of PyTorch's profiler (JSON): events of category `kernel`. `gpu_memcpy` and `gpu_memset` are counted as left out.

    Timestamps and durations are microseconds there. Launch order is the order of correlation ids (CUDA calls), then of
    starts. Memory stays that of the launches: the file is never in memory as a whole.

    Raises:
        ProfileError: the file is not such a trace, ends in the middle of an event, or an event lacks its time.
    """

    description = "PyTorch profiler JSON"

    @classmethod
    def certainty(cls, beginning: Beginning) -> int:
        """Certainty that a file with this beginning is PyTorch profiler JSON."""
        return STRUCTURE if beginning.text.startswith(("{", "[")) else NOT_THIS

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Program:
        """Read the profile in open JSON of PyTorch's profiler; messages call it `source`."""
        builder = ProgramBuilder(source)
        replays: set[int] = set()  # correlations of calls that replay a graph
        seen: set[int] = set()
        for event in events(file, source):
            kind = str(event.get("cat", "")).lower()
            if kind == "kernel" and event.get("ph") == "X":
                seen.add(_add_event(builder, event, source))
            elif kind.removeprefix("gpu_") in ("memcpy", "memset") and event.get("ph") == "X":
                builder.leave_out(kind.removeprefix("gpu_"))
            elif kind in CALLS and str(event.get("name")).startswith(REPLAYS):
                replays.add(correlation_of(event))
        if missing := len(replays - seen):
            builder.leave_out("replay of a CUDA graph without its kernels", missing)
            builder.remark("graph-blocks", missing, place="cudaGraphLaunch")
        return builder.finish(device)


def _add_event(builder: ProgramBuilder, event: dict[str, Any], source: str) -> int:
    """Add a kernel; its correlation."""
    about = event.get("args")
    about = about if isinstance(about, dict) else {}
    where = f"{source}: kernel {str(event.get('name'))[:60]!r}"
    try:
        begin, duration = float(event["ts"]), float(event["dur"]) * 1000
        start = round(event["ts"] * 1000) if math.isfinite(begin) else 0
    except (KeyError, TypeError, ValueError):
        raise ProfileError(
            f"{where}: needs numbers ts and dur, got {event.get('ts')!r} and {event.get('dur')!r}"
        ) from None
    if not math.isfinite(begin):
        duration = math.nan  # a kernel without a place on the clock is one without a time
    order = correlation_of(event)
    if not event.get("name"):
        raise ProfileError(f"{where}: the kernel at ts {event['ts']} has no name")
    builder.add(
        str(event["name"]),
        _sizes(about.get("grid"), where),
        _sizes(about.get("block"), where),
        integer(about.get("registers per thread")),
        integer(about.get("shared memory")),
        integer(about.get("stream", event.get("tid"))),
        start,
        duration if math.isfinite(duration) else math.nan,
        order=order,
        device=integer(about.get("device", event.get("pid"))),
        graph_node=integer(about.get("graph node id", about.get("graph_node_id"))) or UNKNOWN,
    )
    return order


def correlation_of(event: dict[str, Any]) -> int:
    """Number of the CUDA call that an event belongs to; 0 if it has none."""
    about = event.get("args")
    about = about if isinstance(about, dict) else {}
    return integer(about.get("correlation", about.get("correlation_id", 0)))


def _sizes(value: Any, where: str) -> tuple[int, int, int]:
    if value is None:
        return 0, 0, 0
    return shape(str(value), where)


def integer(value: Any) -> int:
    """Integer in an event, which may be text; UNKNOWN if it is no integer."""
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdigit()) else UNKNOWN


def events(file: TextIO, source: str) -> Iterator[dict[str, Any]]:
    """Decode the objects of the array `traceEvents` (or of a top-level array) one at a time."""
    decode = json.JSONDecoder().raw_decode
    text, position = _open_array(file, source)
    while True:
        position = _skip(text, position)
        if position >= len(text):
            text, position = file.read(CHUNK), 0
            if not text:
                raise ProfileError(f"{source}: the file ends inside its list of events; was the profiler killed?")
            continue
        if text[position] == "]":
            return
        try:
            event, end = decode(text, position)
            if end == len(text):
                raise ValueError  # the event may go on in the next chunk
        except ValueError:
            more = file.read(CHUNK)
            if not more or len(text) - position > LARGEST_EVENT:
                raise ProfileError(
                    f"{source}: the file ends or is damaged inside an event that begins {text[position : position + 60]!r}"
                ) from None
            text, position = text[position:] + more, 0
            continue
        position = end
        if isinstance(event, dict):
            yield event


def _open_array(file: TextIO, source: str) -> tuple[str, int]:
    """A chunk of text and the place in it where the first event begins."""
    text = file.read(CHUNK)
    if text.lstrip("\ufeff \r\n\t").startswith("["):
        return text, text.index("[") + 1
    key = '"traceEvents"'
    while key not in text or "[" not in text[text.index(key) :]:
        more = file.read(CHUNK)
        if not more:
            raise ProfileError(f"{source}: no list of traceEvents, so this is not a trace of the PyTorch profiler")
        start = text.index(key) if key in text else max(0, len(text) - len(key))
        text = text[start:] + more
    return text, text.index("[", text.index(key)) + 1


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in " ,\r\n\t":
        position += 1
    return position
