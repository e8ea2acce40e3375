"""Patching of a checkout of a simulator: show, apply and revert."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from kernelpoint.errors import PatchError
from kernelpoint.files import read_regular
from kernelpoint.patching.anchors import Sources, after_includes, capture, locate
from kernelpoint.patching.description import Description, Insertion
from kernelpoint.patching.own_files import (
    MARK,
    MOST_BYTES,
    OwnFiles,
    add_lines,
    has_lines,
    read_file,
    strip_lines,
    write_file,
)


class State(Enum):
    """State of a simulator's checkout: patched, not patched, or patched by another version of KernelPoint.

    >>> State.OUTDATED.value
    'patched by another version'
    """

    PRISTINE = "not patched"
    PATCHED = "patched"
    OUTDATED = "patched by another version"


@dataclass(frozen=True)
class Edit:
    """Line that the patch adds before line `line` (0-based) of the unpatched file.

    >>> additions = Additions([Edit("main.cc", 41, "the launch loop", "  if (!kernelpoint::wanted()) continue;")], files={})
    >>> [f"{edit.file}:{edit.line + 1}" for edit in additions.edits]
    ['main.cc:42']
    """

    file: str
    line: int
    name: str
    text: str


@dataclass(frozen=True)
class Additions:
    """Lines and files that the patch adds to a simulator's checkout.

    Attributes:
        edits: the added lines.
        files: whole content of every file that the patch changes or adds, by path in the checkout.
    """

    edits: list[Edit]
    files: Mapping[str, bytes]


class SourceTree:
    """Source tree of a simulator, which can be patched and restored.

    Args:
        root: folder of the checkout.
        description: description of the patch.
        launcher: True to add files for the simulator's job launcher. Files that an earlier patch added stay in either case.

    Raises:
        PatchError: the checkout has no job launcher that KernelPoint knows, or the folder is no checkout of this simulator; the
            message names checkouts near the folder.

    >>> from kernelpoint.patching import load_description
    >>> SourceTree(Path("traces"), load_description("macsim"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    kernelpoint.errors.PatchError: traces is no source tree of MacSim that this patch can change: it has no ...
    """

    def __init__(self, root: Path, description: Description, launcher: bool = False) -> None:
        self.root = root
        self.description = description
        self._own = OwnFiles(root, description, launcher)
        missing = [name for name in description.known_by if not (root / name).is_file()]
        if missing:
            raise PatchError(
                f"{root} is no source tree of {description.title} that this patch can change: it has no "
                f"{', '.join(missing)}; nearest: {self._nearest(missing)}"
            )

    def additions(self) -> Additions:
        """Compute the lines and files that the patch adds. The result is the same for a patched and an unpatched tree.

        Raises:
            PatchError: the place of a line is missing, or there are several.
        """
        texts = {name: strip_lines(text) for name, text in self._sources().items()}
        self._check_leftovers(texts)
        edits = [*self._code_edits(texts), *self._build_edits(texts)]
        files = {}
        for name in sorted({edit.file for edit in edits}):
            comment = "//" if name.endswith((".cc", ".cpp", ".h")) else "#"
            added = [(edit.line, edit.text) for edit in edits if edit.file == name]
            files[name] = add_lines(texts[name], added, comment).encode("latin-1")
        return Additions(edits, {**files, **self._own.contents()})

    def state(self) -> State:
        """State of the source tree: patched, not patched, or patched by another version of KernelPoint."""
        if not any(map(has_lines, self._sources().values())) and not self._own.laid_down():
            return State.PRISTINE
        try:
            wanted = self.additions().files
        except PatchError:
            return State.OUTDATED
        same = all(read_file(self.root / name) == content for name, content in wanted.items())
        return State.PATCHED if same else State.OUTDATED

    def apply(self) -> Additions:
        """Apply the patch; lines of an earlier version are replaced. If any part is refused, nothing is written."""
        additions = self.additions()
        stale = self._own.laid_down() - set(additions.files)
        for name, content in sorted(additions.files.items(), key=lambda item: item[0] in self._texts()):
            write_file(self.root / name, content)  # our own files first: a source never includes what is not there yet
        for name in stale:
            (self.root / name).unlink(missing_ok=True)
        return additions

    def revert(self) -> list[str]:
        """Remove the patch, so that every file has its original bytes. Returns the paths of the files restored or removed."""
        changed = []
        for name, text in self._sources().items():
            if has_lines(text):
                stripped = strip_lines(text)
                self._check_leftovers({name: stripped})
                write_file(self.root / name, stripped.encode("latin-1"))
                changed.append(name)
        return [*changed, *self._own.remove()]

    # ---- parts ------------------------------------------------------------------------------------------------------

    def _texts(self) -> list[str]:
        patterns = [*self.description.sources, *(line.file for line in self.description.build)]
        paths = {path for pattern in patterns for path in self.root.glob(pattern) if path.is_file()}
        return sorted(str(path.relative_to(self.root)) for path in paths)

    def _sources(self) -> dict[str, str]:
        return {name: read_regular(self.root / name, MOST_BYTES).decode("latin-1") for name in self._texts()}

    def _code_edits(self, texts: Mapping[str, str]) -> list[Edit]:
        build = {line.file for line in self.description.build}
        code = {name: text for name, text in texts.items() if name not in build}
        sources = Sources.parse(_built(code, "\n".join(text for name, text in texts.items() if name in build)))
        wanted = self.description.insertions
        names = capture(sources, [*self.description.captures, *wanted])
        edits = []
        for insertion in wanted:
            place = locate(sources, insertion)
            text = place.indent + _fill(insertion, place.kind, names)
            edits.append(Edit(place.file, place.line, insertion.name, text))
        for file in sorted({edit.file for edit in edits}):
            edits.append(Edit(file, after_includes(sources, file), "the hook's header", self.description.include))
        return edits

    def _build_edits(self, texts: Mapping[str, str]) -> list[Edit]:
        edits = []
        for line in self.description.build:
            if line.file not in texts:
                continue
            numbers = [n for n, text in enumerate(texts[line.file].split("\n")) if re.search(line.match, text)]
            if not numbers:
                raise PatchError(
                    f"{line.file}: cannot insert the patch's line {line.name}: no line of this file matches {line.match!r}; "
                    "restore the original file"
                )
            edits.append(Edit(line.file, numbers[0], line.name, line.line))
        if self.description.build and not edits:
            files = ", ".join(line.file for line in self.description.build)
            raise PatchError(
                f"{self.root}: this source tree has no build file; expected one of {files}. Name the folder of a complete "
                "checkout"
            )
        return edits

    def _check_leftovers(self, texts: Mapping[str, str]) -> None:
        for name, text in texts.items():
            for number, line in enumerate(text.split("\n"), 1):
                if MARK in line or self.description.include in line:
                    raise PatchError(
                        f"{name}:{number}: the patch cannot be removed, because this line of it was changed: "
                        f"{line.strip()!r}; restore the file, or remove by hand every line that names kernelpoint"
                    )

    def _nearest(self, missing: list[str]) -> str:
        marker = missing[0]
        above = [parent for parent in Path(os.path.realpath(self.root)).parents if (parent / marker).is_file()]
        below = [path for depth in ("*", "*/*") for path in self.root.glob(f"{depth}/{marker}")]
        roots = [*above, *(path.parents[len(Path(marker).parts) - 1] for path in below)]
        if roots:
            return ", ".join(map(str, roots[:3]))
        names = [str(p.relative_to(self.root)) for p in self.root.glob("*/*/*")][:5000] if self.root.is_dir() else []
        return ", ".join(difflib.get_close_matches(marker, names, n=3, cutoff=0.5)) or "nothing similar"


def _built(code: Mapping[str, str], build: str) -> dict[str, str]:
    """Sources to search: those that build files name and the headers that they include; all sources if build files name
    none.

    So a backup copy beside a source is not a second place of insertion.

    >>> list(_built({"a/main.cc": '#include "b.h"', "a/main_old.cc": "", "a/b.h": ""}, "sim: main.cc"))
    ['a/main.cc', 'a/b.h']
    """
    words = set(re.findall(r"[^\s/'\",;()]+", build))
    built = {name: text for name, text in code.items() if Path(name).name in words}
    waiting = list(built.values())
    while waiting:
        headers = {Path(header).name for header in re.findall(r'#\s*include\s*"([^"]+)"', waiting.pop())}
        further = {name: text for name, text in code.items() if name not in built and Path(name).name in headers}
        built |= further
        waiting += further.values()
    return built or dict(code)


def _fill(insertion: Insertion, kind: str, names: Mapping[str, str]) -> str:
    line = insertion.line if isinstance(insertion.line, str) else insertion.line.get(kind)
    if line is None:
        raise PatchError(
            f"cannot insert the patch's part {insertion.name}: the code there is a {kind}; allowed: "
            f"{', '.join(insertion.line)}. Restore the original code"
        )
    for name, text in names.items():
        line = line.replace("{" + name + "}", " ".join(text.split()))
    return line
