"""The PyTorch profiler's trace (Kineto, Chrome trace format): JSON of any size, read event by event."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from typing import Any, TextIO

from kernelpoint.errors import ProfileError
from kernelpoint.profiles.calls import CALL, OPERATOR, Calls
from kernelpoint.profiles.format import STRUCTURE, TextFormat
from kernelpoint.profiles.formats.tables import shape
from kernelpoint.program import UNKNOWN, Program, ProgramBuilder

CHUNK = 1 << 20
CALLS = ("cuda_runtime", "cuda_driver")  # categories of calls
FLOWS = ("s", "t", "f")  # phases of arrows between events
MODULE = "nn.Module: "  # begin of the names of calls of modules
_LIST, _LIST_BEGIN = re.compile(r'"traceEvents"\s*:\s*\['), 1000  # and most characters of it
LARGEST_EVENT = 64 << 20  # characters; an event that is longer is taken for damage


class Kineto(TextFormat):
    """Format of PyTorch's profiler (JSON). Launches are the events of category `kernel`; `gpu_memcpy` and `gpu_memset` are
    counted as left out.

    Launches are ordered by correlation id (number of the CUDA call), then by start. The file is read event by event and is
    never in memory as a whole.

    The range of a kernel (its place in the model's code) consists of the events that were open on the launching thread:

    * `record_function` events (category user_annotation);
    * calls of `nn.Module` (category python_function, written with the profiler's option `with_modules` or `with_stack`);
    * the outermost operator (category cpu_op) inside the innermost module.

    Kernels of the backward pass are launched by another thread, so their ranges contain operators but no modules.

    Raises:
        ProfileError: the file is no trace of the PyTorch profiler, ends in the middle of an event, or an event lacks its time.
    """

    description = "PyTorch profiler JSON"
    recognised = STRUCTURE, r"[{\[]"
    ranges = "PyTorch profiler JSON with modules, annotations or operators"

    def read_text(self, file: TextIO, source: str, device: int | None = None) -> Program:
        builder, calls = ProgramBuilder(source), Calls(self.with_ranges)
        orders = array("q")  # number of the call of each kernel
        kinds: Counter[str] = Counter()
        for event in events(file, source):
            kind = str(event.get("cat", "")).lower()
            kinds[kind] += 1
            if kind == "kernel" and event.get("ph") not in FLOWS:
                if (phase := event.get("ph")) != "X":
                    raise ProfileError(
                        f"{source}: a kernel is an event of phase {str(phase)[:9]!r}, such as one of its begin and end; "
                        "allowed: one event (ph X), as PyTorch writes"
                    )
                orders.append(_add_event(builder, event, source))
            elif kind.removeprefix("gpu_") in ("memcpy", "memset") and event.get("ph") == "X":
                builder.leave_out(kind.removeprefix("gpu_"))
            elif kind in CALLS or self.with_ranges:
                _add_host_event(calls, kind, event)
        if self.with_ranges:
            if not calls.ranges:
                raise ProfileError(
                    f"{source}: the trace has no modules, annotations or operators beside its kernels; profile with "
                    "activities CPU and CUDA, and with_modules=True"
                )
            builder.ranges = calls.paths(orders)
        if repeated := sum(len(numbers) - len({*numbers}) for name, numbers in calls.launching.items() if CALL.match(name)):
            builder.remark("several-runs", repeated, place="calls with one number: traces of several ranks?")
        calls.remark(builder, orders)
        if not len(builder):
            counts = (
                ", ".join(f"{count:,} x {kind or 'without a category'}" for kind, count in kinds.most_common(5)) or "no event"
            )
            raise ProfileError(
                f"{source}: the file has no kernel launch, an event of category kernel (it has {counts}); profile "
                "with PyTorch's profiler and the activities CPU and CUDA"
            )
        return builder.finish(device)


def _add_host_event(calls: Calls, kind: str, event: dict[str, Any]) -> None:
    """Store a call of the runtime, or a range of a host thread, from an event."""
    name, thread, begin = str(event.get("name", "")), None, 0.0
    if event.get("ph") == "X" and all(isinstance(event.get(key), int | float) for key in ("ts", "dur")):
        thread, begin = (event.get("pid"), event.get("tid")), float(event["ts"])
    if kind in CALLS:
        calls.add(name, correlation_of(event), thread, begin)
    elif thread is not None:
        end = begin + event["dur"]
        if kind == "user_annotation" or (kind == "python_function" and name.startswith(MODULE)):
            calls.ranges.append((thread, begin, end, name.removeprefix(MODULE)))
        elif kind == "cpu_op":
            calls.ranges.append((thread, begin, end, OPERATOR + name))


def _add_event(builder: ProgramBuilder, event: dict[str, Any], source: str) -> int:
    """Add a kernel from an event; returns the number of its CUDA call."""
    about = _arguments(event)
    where = f"{source}: kernel {str(event.get('name'))[:60]!r}"
    try:
        begin, duration = float(event["ts"]), float(event["dur"]) * 1000
        start = round(event["ts"] * 1000) if math.isfinite(begin) else 0
    except (KeyError, TypeError, ValueError):
        raise ProfileError(f"{where}: expected numbers ts and dur, got {event.get('ts')!r} and {event.get('dur')!r}") from None
    if not math.isfinite(begin):
        duration = math.nan  # a kernel without a place on the clock is one without a time
    order = correlation_of(event)
    if not event.get("name") or not isinstance(event["name"], str):
        raise ProfileError(f"{where}: the kernel at ts {event['ts']} has no name")
    grid, block = (shape(str(size), where) if size is not None else (0, 0, 0) for size in map(about.get, ("grid", "block")))
    builder.add(
        event["name"],
        grid,
        block,
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
    """Correlation id of a profiler event: the number of the CUDA call that it belongs to; 0 if it has none."""
    about = _arguments(event)
    return integer(about.get("correlation", about.get("correlation_id", 0)))


def _arguments(event: dict[str, Any]) -> dict[str, Any]:
    return about if isinstance(about := event.get("args"), dict) else {}


def integer(value: Any) -> int:
    """Integer in a profiler event, given as a number or as text; UNKNOWN if it is no integer."""
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdigit()) else UNKNOWN


def events(file: TextIO, source: str) -> Iterator[dict[str, Any]]:
    """Iterator over the objects of the JSON array `traceEvents` (or of a top-level array), decoded one at a time."""
    decode = json.JSONDecoder(strict=False).raw_decode  # some versions write names with control characters
    text, position = _open_array(file, source)
    while True:
        position = _skip(text, position)
        if position >= len(text):
            text, position = file.read(CHUNK), 0
            if not text:
                raise ProfileError(f"{source}: the file ends inside its list of events; was the profiler killed?")
            continue
        if text[position] == "]":
            break
        try:
            event, end = decode(text, position)
            if end == len(text):
                raise ValueError  # the event may go on in the next chunk
        except ValueError:
            more = file.read(max(CHUNK, len(text) - position))  # twice as much: a long event is decoded a few times only
            if not more or len(text) - position > LARGEST_EVENT:
                raise ProfileError(
                    f"{source}: the file ends or is damaged inside an event that begins {text[position : position + 60]!r}"
                ) from None
            text, position = text[position:] + more, 0
            continue
        position = end
        if isinstance(event, dict):
            yield event
    rest = text[position:]
    while rest:
        if _LIST.search(rest):
            raise ProfileError(f"{source}: the file has a second list of traceEvents; give each trace in a file of its own")
        rest = rest[-_LIST_BEGIN:] + more if (more := file.read(CHUNK)) else ""


def _open_array(file: TextIO, source: str) -> tuple[str, int]:
    """Find the beginning of the array of events; returns a chunk of text and the position of the first event."""
    text = file.read(CHUNK)
    if text.lstrip("\ufeff \r\n\t").startswith("["):
        return text, text.index("[") + 1
    while not (match := _LIST.search(text)):
        if not (more := file.read(CHUNK)):
            raise ProfileError(
                f"{source}: the file has no list of traceEvents, so it is not a trace of the PyTorch profiler; write one with "
                "export_chrome_trace, or export the launches of another profiler as CSV"
            )
        text = text[-_LIST_BEGIN:] + more
    return text, match.end()


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in " ,\r\n\t":
        position += 1
    return position
