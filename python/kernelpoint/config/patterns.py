"""Patterns by which the error budget names ranges."""

from __future__ import annotations

from fnmatch import fnmatchcase


def matching(pattern: str, paths: tuple[str, ...]) -> list[str]:
    """Paths that a pattern names; `*` stands for any text of one part.

    >>> matching("decode/*", ("", "decode", "decode/layer.0", "decode/layer.0/mlp"))
    ['decode/layer.0']
    """
    parts = pattern.strip("/").split("/")
    split = ((path, path.split("/")) for path in paths if path)
    return [path for path, own in split if len(own) == len(parts) and all(map(fnmatchcase, own, parts))]
