"""A checkout of a simulator: what a patch would add, adding it, and taking it out again."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from kernelpoint.errors import PatchError
from kernelpoint.files import read_regular, replacing
from kernelpoint.patching.anchors import Sources, after_includes, capture, locate
from kernelpoint.patching.description import Description, Insertion
from kernelpoint.patching.lines import MARK, add_lines, has_lines, strip_lines

MOST_BYTES = 1 << 26
LISTING = "FILES"  # in our folder: the names of the files that we laid there


class State(Enum):
    """State of a checkout: how far it is patched."""

    PRISTINE = "not patched"
    PATCHED = "patched"
    OUTDATED = "patched by another version"


@dataclass(frozen=True)
class Edit:
    """One added line: before line `line` (0-based, of the unpatched file)."""

    file: str
    line: int
    name: str
    text: str


@dataclass(frozen=True)
class Plan:
    """Additions of a patch to a checkout.

    Attributes:
        edits: the added lines.
        files: whole contents of every file that the patch changes or lays down, by path in the checkout.
    """

    edits: list[Edit]
    files: Mapping[str, bytes]


class Tree:
    """A checkout of the simulator that a description is about.

    Args:
        root: the checkout's folder.
        description: which simulator, and what is added.
        launcher: whether files for its job launcher are added too; they stay where an earlier patch laid them down.

    Raises:
        PatchError: the simulator has no launcher that is known, or the folder is not a checkout of this simulator; folders
            near it that are, are named.
    """

    def __init__(self, root: Path, description: Description, launcher: bool = False) -> None:
        self.root = root
        self.description = description
        if launcher and not (description.launcher and (root / description.launcher.into).is_dir()):
            raise PatchError(f"--launcher: {root} has no job launcher of {description.title} that this patch knows")
        missing = [name for name in description.known_by if not (root / name).is_file()]
        if missing:
            raise PatchError(
                f"{root} is not a tree of {description.title} that this patch knows: it has no {', '.join(missing)}; "
                f"nearest: {self._nearest(missing)}"
            )
        self._launcher = launcher or bool(self._laid_down() & set(self._launcher_paths()))

    def plan(self) -> Plan:
        """Additions of the patch, whether or not the tree is patched already.

        Raises:
            PatchError: a place is missing or ambiguous; see :mod:`kernelpoint.patching.anchors`.
        """
        texts = {name: strip_lines(text) for name, text in self._sources().items()}
        self._check_leftovers(texts)
        edits = [*self._code_edits(texts), *self._build_edits(texts)]
        files = {}
        for name in sorted({edit.file for edit in edits}):
            comment = "//" if name.endswith((".cc", ".cpp", ".h")) else "#"
            added = [(edit.line, edit.text) for edit in edits if edit.file == name]
            files[name] = add_lines(texts[name], added, comment).encode("latin-1")
        return Plan(edits, {**files, **self._own_files()})

    def state(self) -> State:
        """State of the tree: how far it is patched."""
        if not any(map(has_lines, self._sources().values())) and not self._laid_down():
            return State.PRISTINE
        try:
            wanted = self.plan().files
        except PatchError:
            return State.OUTDATED
        same = all(_read(self.root / name) == content for name, content in wanted.items())
        return State.PATCHED if same else State.OUTDATED

    def apply(self) -> Plan:
        """Add the patch; what an earlier version added is replaced. Nothing is written if anything is refused."""
        plan = self.plan()
        stale = self._laid_down() - set(plan.files)
        for name, content in sorted(plan.files.items(), key=lambda item: item[0] in self._texts()):
            _write(self.root / name, content)  # our own files first: a source never includes what is not there yet
        for name in stale:
            (self.root / name).unlink(missing_ok=True)
        return plan

    def revert(self) -> list[str]:
        """Take the patch out; every file is as it was before, to the byte. Returns the paths restored or removed."""
        changed = []
        for name, text in self._sources().items():
            if has_lines(text):
                stripped = strip_lines(text)
                self._check_leftovers({name: stripped})
                _write(self.root / name, stripped.encode("latin-1"))
                changed.append(name)
        for name in sorted(self._laid_down()):
            (self.root / name).unlink(missing_ok=True)
            changed.append(name)
        self._remove_own_folder()
        self._renew_definitions()
        return changed

    # ---- parts ------------------------------------------------------------------------------------------------------

    def _texts(self) -> list[str]:
        patterns = [*self.description.sources, *(line.file for line in self.description.build)]
        found = {path for pattern in patterns for path in self.root.glob(pattern) if path.is_file()}
        return sorted(str(path.relative_to(self.root)) for path in found)

    def _sources(self) -> dict[str, str]:
        return {name: read_regular(self.root / name, MOST_BYTES).decode("latin-1") for name in self._texts()}

    def _code_edits(self, texts: Mapping[str, str]) -> list[Edit]:
        build = {line.file for line in self.description.build}
        sources = Sources.parse({name: text for name, text in texts.items() if name not in build})
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
                raise PatchError(f"{line.file}: {line.name}: no line matches {line.match!r}")
            edits.append(Edit(line.file, numbers[0], line.name, line.line))
        if self.description.build and not edits:
            files = ", ".join(line.file for line in self.description.build)
            raise PatchError(f"{self.root}: no build file is found; looked for {files}")
        return edits

    def _own_files(self) -> dict[str, bytes]:
        copies, description = self.description.copies, self.description
        paths = {f"{copies.into}/{Path(name).name}": description.folder / name for name in copies.hook}
        paths |= {f"{copies.into}/{name}": description.abi_folder / name for name in copies.abi}
        if more := description.definitions:
            paths |= {f"{more.into}/{Path(name).name}": description.folder / name for name in more.files}
        try:
            files = {name: read_regular(path, MOST_BYTES) for name, path in paths.items()}
            if self._launcher:
                root = os.fsencode(os.path.realpath(self.root))
                own = self._launcher_paths().items()
                files |= {name: read_regular(path, MOST_BYTES).replace(b"{CHECKOUT}", root) for name, path in own}
        except OSError as error:
            raise PatchError(f"the installation is incomplete: {error}") from None
        names = "".join(f"{name}\n" for name in sorted(files))
        return {**files, f"{copies.into}/{LISTING}": names.encode()}

    def _launcher_paths(self) -> dict[str, Path]:
        """Files for the job launcher: their places in the checkout, and where they come from."""
        if (more := self.description.launcher) is None:
            return {}
        folder, into = self.description.folder, self.description.copies.into
        definitions = {f"{more.into}/{Path(name).name}": folder / name for name in more.files}
        return definitions | {f"{into}/{Path(name).name}": folder / name for name in more.configurations}

    def _laid_down(self) -> set[str]:
        listing = f"{self.description.copies.into}/{LISTING}"
        content = _read(self.root / listing)
        names = {*content.decode("latin-1").split("\n"), listing} - {""} if content is not None else set()
        for name in names:
            if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name:
                raise PatchError(
                    f"{listing}: {name[:60]!r} is outside the checkout; delete that file, then patch again"
                )
        return names

    def _remove_own_folder(self) -> None:
        folder = self.root / self.description.copies.into
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()

    def _renew_definitions(self) -> None:
        for name in self.description.definitions.renew if self.description.definitions else []:
            if (self.root / name).is_file():
                os.utime(self.root / name)

    def _check_leftovers(self, texts: Mapping[str, str]) -> None:
        for name, text in texts.items():
            for number, line in enumerate(text.split("\n"), 1):
                if MARK in line or self.description.include in line:
                    raise PatchError(
                        f"{name}:{number}: this line is ours but was changed since: {line.strip()!r}; restore the file, "
                        "or remove by hand every line that speaks of kernelpoint"
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


def _fill(insertion: Insertion, kind: str, names: Mapping[str, str]) -> str:
    line = insertion.line if isinstance(insertion.line, str) else insertion.line.get(kind)
    if line is None:
        raise PatchError(f"{insertion.name}: found {kind}; allowed: {', '.join(insertion.line)}")
    for name, text in names.items():
        line = line.replace("{" + name + "}", " ".join(text.split()))
    return line


def _read(path: Path) -> bytes | None:
    try:
        return read_regular(path, MOST_BYTES)
    except OSError:
        return None


def _write(path: Path, content: bytes) -> None:
    """Replace a file in one step, keeping its mode; left alone where it holds the content already."""
    if _read(path) == content:
        return
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as file:
        file.write(content)
        if path.exists():
            os.fchmod(file.fileno(), path.stat().st_mode & 0o7777)
