"""Refusal of traces whose architecture the simulator does not know, before the first cycle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelpoint.errors import TraceError
from kernelpoint.session.host_info import HostInfo

LOOKED_AT = (
    2000  # Model: headers read of a longer list, evenly spread; a program's code is of one architecture, or of few
)


def check_architectures(host: HostInfo, paths: Sequence[str]) -> None:
    """Refuse a list with code that the simulator does not know: Accel-Sim would end at it with exit code 0 and no result.

    Nothing is refused where the host does not say what it knows, nor for a trace that cannot be read: that is said elsewhere.

    Args:
        paths: traces of the launches; empty text for a launch that was not traced.

    Raises:
        TraceError: names the trace, its architecture, and those that the simulator knows.
    """
    known = host.architectures
    if not known:
        return
    from kernelpoint.traces import read_header  # needs the native reader, which other runs do not

    distinct = [path for path in dict.fromkeys(paths) if path]
    places = np.unique(np.linspace(0, max(len(distinct) - 1, 0), LOOKED_AT).astype(int))
    for path in (distinct[place] for place in places.tolist() if distinct):
        try:
            version = read_header(path).binary_version
        except TraceError:
            continue
        if version not in known:
            raise TraceError(
                f"{path}: its code is for sm_{version}; this {host.simulator} knows "
                f"{', '.join(f'sm_{v}' for v in sorted(known))}, and would end at it without a result: trace on a GPU that it "
                "knows, or use a version of the simulator that knows this one"
            )
