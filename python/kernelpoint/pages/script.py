"""The JavaScript that draws the charts of every page, kept in the cache."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from kernelpoint.files import read_regular, replacing
from kernelpoint.traces.cache import cache_folder

MOST_BYTES = 1 << 26
_BUNDLER = "vl-convert-python"
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def javascript() -> str | None:
    """Bundled JavaScript of Vega from the package vl-convert, about 0.9 MB, escaped for a page; None if that package is not
    installed.

    Making it takes seconds, so it is kept in the cache, under a checksum whose key is this installation. A kept one that is
    damaged, or that came with a cache folder from elsewhere, is made again.
    """
    try:
        kept = Path(cache_folder()) / f"vega-{version(_BUNDLER)}.js"
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
    """The first line of the kept file: a checksum whose key is where and when vl-convert was installed."""
    status = os.stat(str(distribution(_BUNDLER).locate_file("vl_convert")))
    key = f"{status.st_ino} {status.st_mtime_ns}"
    return f"// {hashlib.blake2b(text.encode(), digest_size=16, key=key.encode()).hexdigest()}\n"


def _escaped(text: str) -> str:
    r"""JavaScript that cannot end the element of a page that it stands in; within texts and patterns `\x3C` means `<`.

    >>> _escaped("'</SCRIPT><!--'")
    "'\\x3C/SCRIPT>\\x3C!--'"
    """
    return re.sub("<(?=/?script|!--)", r"\\x3C", text, flags=re.IGNORECASE)
