"""Description of a patch, read from a simulator's ``patch.yaml``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import yaml

import kernelpoint
from kernelpoint.errors import PatchError, shown
from kernelpoint.typed import Length, Mismatch, reader


@dataclass(frozen=True)
class Capture:
    """Pattern that names parts of a simulator's source, for use in added lines. It adds no line.

    Attributes:
        match: ast-grep pattern; ``$NAME`` matches one syntax node, whose text replaces ``{NAME}`` in added lines.
        why: purpose of the names, shown to the user if the pattern has no match.
    """

    match: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Insertion:
    """Line of C++ that the patch adds to a simulator, placed by a pattern with exactly one match in the sources.

    Attributes:
        name: purpose of the line, shown to the user.
        match: ast-grep pattern; ``$NAME`` matches one syntax node, whose text replaces ``{NAME}`` in the line.
        at: node that gives the place: the matched statement, the outermost loop around it, or the function around it.
        place: side of that node; in a function, the line goes before the first statement.
        line: the added line, or one for each kind of node (tree-sitter's names) that `at` may be.
    """

    name: str
    match: str
    at: Literal["statement", "outermost_loop", "function"] = "statement"
    place: Literal["before", "after"] = "before"
    line: str | dict[str, str]


@dataclass(frozen=True)
class BuildLine:
    """Line that the patch adds to a build file, before the first line that matches a regular expression."""

    name: str
    file: str
    match: str
    line: str


@dataclass(frozen=True)
class Copies:
    """Header files of KernelPoint that the patch copies into the simulator's source tree."""

    into: str
    hook: list[str]
    abi: list[str]


@dataclass(frozen=True)
class Definitions:
    """Files of KernelPoint from which the simulator's build generates sources. The build does so when a file is newer than the
    generated sources.

    Attributes:
        into: folder in the simulator's source tree.
        files: KernelPoint's files for that folder.
        renew: other files of the folder that get the present time when the patch is reverted, so that the build generates the
            sources again.
    """

    into: str
    files: list[str]
    renew: list[str]


@dataclass(frozen=True)
class Launcher:
    """Files of KernelPoint for the simulator's job launcher, which finds them by their names.

    Attributes:
        into: folder of the launcher's definitions.
        files: KernelPoint's definitions; the checkout's absolute path replaces ``{CHECKOUT}`` in them.
        configurations: KernelPoint configurations that the definitions name; they are copied beside KernelPoint's headers.
    """

    into: str
    files: list[str]
    configurations: list[str]


@dataclass(kw_only=True)
class Description:
    """Description of the patch for one simulator, from its checked ``patch.yaml``.

    Attributes:
        known_by: files, relative to the checkout, that every source tree of this simulator has.
        sources: glob patterns of the sources that are searched for places to add lines.
        include: line that is added after the last ``#include`` of every source that receives a line.
        folder: folder of ``patch.yaml``; not a key of the file.

    >>> accelsim = load_description("accelsim")
    >>> accelsim.title, accelsim.copies.into, accelsim.insertions[0].at
    ('Accel-Sim', 'gpu-simulator/kernelpoint', 'statement')
    """

    version: Literal[1]
    simulator: str
    title: str
    known_by: Annotated[list[str], Length(1)]
    sources: Annotated[list[str], Length(1)]
    include: str
    copies: Copies
    definitions: Definitions | None = None
    launcher: Launcher | None = None
    captures: list[Capture] = field(default_factory=list)
    insertions: Annotated[list[Insertion], Length(1)]
    build: list[BuildLine] = field(default_factory=list)
    folder: Path = field(init=False)


def patchable() -> dict[str, Path]:
    """Folder of each simulator that can be patched, by name: every folder with a ``patch.yaml``.

    >>> {"accelsim", "macsim"} <= {*patchable()}
    True
    """
    package = Path(kernelpoint.__file__).parent
    installed = package.glob("patches/*/patch.yaml")
    in_checkout = package.parents[1].glob("*_patch/patch.yaml")
    folders = {path.parent.name.removesuffix("_patch"): path.parent for path in (*in_checkout, *installed)}
    return dict(sorted(folders.items()))


def load_description(simulator: str) -> Description:
    """Read the description of the patch for a simulator, which is given by name.

    Raises:
        PatchError: the simulator is unknown, or its description is missing or wrong.

    >>> load_description("gem5")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    kernelpoint.errors.PatchError: simulator: got 'gem5'; allowed: ...
    """
    folders = patchable()
    if simulator not in folders:
        raise PatchError(f"simulator: got {simulator!r}; allowed: {', '.join(folders)}")
    path = folders[simulator] / "patch.yaml"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        description: Description = reader(Description)(content)
    except OSError as error:
        raise PatchError(f"no patch for {simulator} is installed: {error}") from None
    except yaml.YAMLError as error:
        raise PatchError(f"{path}: {error}") from None
    except Mismatch as error:
        place = ".".join(error.place) or "the file"
        raise PatchError(f"{path}: {place}: got {shown(error.value)}; {error}") from None
    description.folder = folders[simulator]
    return description


def kept_at(installed: str, checkout: str) -> Path:
    """Path of a folder of KernelPoint's files, in an installed package or in a checkout of KernelPoint.

    Args:
        installed: name of the folder in the package.
        checkout: name of the folder in the checkout.
    """
    package = Path(kernelpoint.__file__).parent
    return package / installed if (package / installed).is_dir() else package.parents[1] / checkout
