"""The JavaScript of Vega, Vega-Lite and Vega-Embed, so that a page needs nothing from elsewhere."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kernelpoint.files import read_regular, replacing
from kernelpoint.traces.store import cache_folder

MOST_BYTES = 1 << 26


def javascript() -> str | None:
    """The bundle that vl-convert carries, about 0.9 MB; None where that is not installed (extra `report`).

    Making it takes seconds, so it is kept in the cache.
    """
    try:
        kept = Path(cache_folder()) / f"vega-{version('vl-convert-python')}.js"
    except PackageNotFoundError:
        return None
    try:
        return read_regular(kept, MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        pass
    try:
        import vl_convert
    except ModuleNotFoundError:
        return None
    text = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # without a snippet: all of Vega
    text = text.replace("</script", "<\\/script")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with replacing(kept) as file:
            file.write(text.encode())
    except OSError:  # a cache that cannot be written costs time, nothing else
        pass
    return text
