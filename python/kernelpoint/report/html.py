"""A self-contained HTML page: text, tables and Vega-Lite charts, nothing loaded from elsewhere."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from kernelpoint.files import read_regular, replacing
from kernelpoint.traces.store import cache_folder

MOST_BYTES = 1 << 26
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def javascript() -> str | None:
    """The bundle that vl-convert carries, about 0.9 MB, escaped for a page; None where that is not installed (extra `report`).

    Making it takes seconds, so it is kept in the cache, under a checksum. A kept one that is damaged, or that another user
    could have written, is made again.
    """
    try:
        kept = Path(cache_folder()) / f"vega-{version('vl-convert-python')}.js"
    except PackageNotFoundError:
        return None
    if (text := _kept(kept)) is not None:
        return _escaped(text)
    try:
        import vl_convert
    except ModuleNotFoundError:
        return None
    text = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # without a snippet: all of Vega
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with replacing(kept) as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(f"{_seal(text)}{text}".encode())
    except OSError:  # a cache that cannot be written costs time, nothing else
        pass
    return _escaped(text)


def _kept(path: Path) -> str | None:
    """The bundle in a file of this user's that has its checksum."""
    try:
        status = path.stat()
        if status.st_uid != os.getuid() or status.st_mode & _WRITABLE_BY_OTHERS:
            return None
        seal, newline, text = read_regular(path, MOST_BYTES).decode().partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if seal + newline == _seal(text) else None


def _seal(text: str) -> str:
    """The first line of the kept file."""
    return f"// {hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}\n"


def _escaped(text: str) -> str:
    r"""JavaScript that cannot end the element of a page that it stands in; within texts and patterns `\x3C` means `<`.

    >>> _escaped("'</SCRIPT><!--'")
    "'\\x3C/SCRIPT>\\x3C!--'"
    """
    return re.sub("<(?=/?script|!--)", r"\\x3C", text, flags=re.IGNORECASE)


WITHOUT_CHARTS = (
    "No charts: they need the package vl-convert-python; pip install 'kernelpoint[report]', then write the page again."
)


def document(title: str, body: str, specs: Mapping[str, Any], style: str = "") -> str:
    """A whole page.

    Args:
        title: plain text.
        body: HTML; a chart of `specs` is drawn in the element whose id is its key.
        specs: Vega-Lite specifications; without the extra `report` the page says that they are not drawn.
        style: CSS that follows the common one.
    """
    assets = files("kernelpoint.report") / "assets"
    common, script = (assets.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    drawing = javascript()
    data = json.dumps(specs if drawing else {}, separators=(",", ":")).replace("</", "<\\/")
    code = f'<script>{drawing or ""}</script><script type="module">const SPECS = {data};\n{script}</script>'
    if drawing is None and specs:
        body = f'<p class="soft">{escape(WITHOUT_CHARTS)}</p>{body}'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{common}{style}</style></head>'
        f"<body><main>{body}</main>{code}</body></html>\n"
    )


def section(name: str, heading: str, caption: str) -> str:
    """The place of the chart `name`, under a heading and a caption, which also are its label for screen readers."""
    label = f'role="img" aria-label="{escape(f"{heading}. {caption}")}"'
    return (
        f'<h2>{escape(heading)}</h2><p class="soft">{escape(caption)}</p><div class="chart" id="{name}" {label}></div>'
    )


def table(head: Iterable[str], rows: Iterable[str], name: str = "") -> str:
    """A table that scrolls sideways where it is too wide.

    Args:
        head: plain text of the headings.
        rows: HTML of the rows; with a name, of groups of rows that stay together.
        name: id of the table, where the page's script sorts it.
    """
    head = list(head)
    scroll = f'<div class="scroll" tabindex="0" role="group" aria-label="table by {escape(head[0] if head else name)}">'
    if name:
        cells = "".join(
            f'<th scope="col" aria-sort="none"><button type="button">{escape(text)}</button></th>' for text in head
        )
        groups = "".join(f"<tbody>{group}</tbody>" for group in rows)
        return f'{scroll}<table id="{name}"><thead><tr>{cells}</tr></thead>{groups}</table></div>'
    cells = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    return f"{scroll}<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
