"""KernelPoint's files in a checkout of a simulator: the hook, the headers of the ABI, definitions, and a job launcher's
configurations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from kernelpoint.errors import PatchError
from kernelpoint.files import read_regular, replacing
from kernelpoint.patching.description import Description, kept_at

MARK = "[kernelpoint patch]"
_OURS = re.compile(r"^[^\n]*(?://|#) " + re.escape(MARK) + r"\r?\n", re.MULTILINE)


def add_lines(text: str, added: Iterable[tuple[int, str]], comment: str) -> str:
    """Add lines, with KernelPoint's mark in a comment, to a text.

    Args:
        added: 0-based number of the line to insert before, and the line to insert.
        comment: sign that begins a comment.

    >>> add_lines("a\\nb\\n", [(1, "x();")], "//")
    'a\\nx(); // [kernelpoint patch]\\nb\\n'
    >>> strip_lines(add_lines("a\\r\\nb", [(1, "x();")], "//"))
    'a\\r\\nb'
    """
    lines = re.split(r"(?<=\n)", text)
    for number, line in sorted(added, reverse=True):
        neighbour = lines[max(number - 1, 0)]
        lines.insert(number, f"{line} {comment} {MARK}" + ("\r\n" if neighbour.endswith("\r\n") else "\n"))
    return "".join(lines)


def strip_lines(text: str) -> str:
    """Text without the lines that have KernelPoint's mark."""
    return _OURS.sub("", text)


def has_lines(text: str) -> bool:
    """True if a text has lines with KernelPoint's mark."""
    return MARK in text


MOST_BYTES = 1 << 26
LISTING = "FILES"  # in our folder: the names of the files that we laid there


class OwnFiles:
    """Files that the patch adds to a simulator's checkout, and those that an earlier patch added.

    Args:
        root: folder of the checkout.
        description: description of the patch.
        launcher: True to add files for the simulator's job launcher. Files that an earlier patch added stay in either case.

    Raises:
        PatchError: the checkout has no job launcher that KernelPoint knows.
    """

    def __init__(self, root: Path, description: Description, launcher: bool = False) -> None:
        if launcher and not (description.launcher and (root / description.launcher.into).is_dir()):
            raise PatchError(
                f"--launcher: the folder {root} has no job launcher of {description.title} that can be extended; leave "
                "--launcher out"
            )
        self._root, self._description = root, description
        self._launcher = launcher or bool(self.laid_down() & set(self._launcher_paths()))

    def contents(self) -> dict[str, bytes]:
        """Content of each file that the patch adds, by path in the checkout.

        Raises:
            PatchError: a file of the installation is missing.
        """
        copies, description = self._description.copies, self._description
        paths = {f"{copies.into}/{Path(name).name}": description.folder / name for name in copies.hook}
        abi = kept_at("include/kernelpoint", "plugin/include/kernelpoint")
        paths |= {f"{copies.into}/{name}": abi / name for name in copies.abi}
        if more := description.definitions:
            paths |= {f"{more.into}/{Path(name).name}": description.folder / name for name in more.files}
        try:
            files = {name: read_regular(path, MOST_BYTES) for name, path in paths.items()}
            if self._launcher:
                root = os.fsencode(os.path.realpath(self._root))
                launcher = self._launcher_paths().items()
                files |= {name: read_regular(path, MOST_BYTES).replace(b"{CHECKOUT}", root) for name, path in launcher}
        except OSError as error:
            raise PatchError(f"KernelPoint's installation is incomplete: {error}; install it again") from None
        names = "".join(f"{name}\n" for name in sorted(files))
        return {**files, f"{copies.into}/{LISTING}": names.encode()}

    def laid_down(self) -> set[str]:
        """Paths of the files that an earlier patch added, from the list that it left in the checkout.

        Raises:
            PatchError: the list names a file outside the checkout.
        """
        listing = f"{self._description.copies.into}/{LISTING}"
        content = read_file(self._root / listing)
        names = {*content.decode("latin-1").split("\n"), listing} - {""} if content is not None else set()
        for name in names:
            if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name:
                raise PatchError(
                    f"{listing} (list of the patch's files) names {name[:60]!r}, which is outside the checkout; delete "
                    f"{listing}, then patch again"
                )
        return names

    def remove(self) -> list[str]:
        """Remove the files that a patch added, and KernelPoint's folder if it is then empty. Returns the removed paths."""
        names = sorted(self.laid_down())
        for name in names:
            (self._root / name).unlink(missing_ok=True)
        folder = self._root / self._description.copies.into
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        for name in self._description.definitions.renew if self._description.definitions else []:
            if (self._root / name).is_file():
                os.utime(self._root / name)
        return names

    def _launcher_paths(self) -> dict[str, Path]:
        """Files for the job launcher: their places in the checkout, and where they come from."""
        if (more := self._description.launcher) is None:
            return {}
        folder, into = self._description.folder, self._description.copies.into
        definitions = {f"{more.into}/{Path(name).name}": folder / name for name in more.files}
        return definitions | {f"{into}/{Path(name).name}": folder / name for name in more.configurations}


def read_file(path: Path) -> bytes | None:
    """Content of a file; None if it cannot be read."""
    try:
        return read_regular(path, MOST_BYTES)
    except OSError:
        return None


def write_file(path: Path, content: bytes) -> None:
    """Replace a file in one step and keep its mode. A file that has this content already is not touched."""
    if read_file(path) == content:
        return
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as file:
        file.write(content)
        if path.exists():
            os.fchmod(file.fileno(), path.stat().st_mode & 0o7777)
