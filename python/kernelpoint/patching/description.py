"""Description of a patch, read from a simulator's ``patch.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

import kernelpoint
from kernelpoint.errors import PatchError


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Capture(_Section):
    """Pattern that names parts of the source for use in added lines. It adds no line.

    Attributes:
        match: an ast-grep pattern; ``$NAME`` matches one node, which every added line can use as ``{NAME}``.
        why: purpose of the names, shown to the user if the pattern has no match.
    """

    match: str
    why: str


class Insertion(_Section):
    """One added line of C++, placed by a pattern that matches exactly once in the sources.

    Attributes:
        name: purpose of the line, shown to the user.
        match: an ast-grep pattern; ``$NAME`` matches one node and can be used as ``{NAME}`` in the line.
        at: the node around the match that counts: the statement, the outermost loop around it, or the function around it.
        place: on which side of that node the line goes; in a function it goes before the first statement.
        line: the added line, or one for each kind of node (tree-sitter's names) that `at` may be.
    """

    name: str
    match: str
    at: Literal["statement", "outermost_loop", "function"] = "statement"
    place: Literal["before", "after"] = "before"
    line: str | dict[str, str]


class BuildLine(_Section):
    """One added line in a build file, placed before the first line that a regular expression matches."""

    name: str
    file: str
    match: str
    line: str


class Copies(_Section):
    """KernelPoint's files that are copied into the simulator's tree: the headers of the hook and of the ABI."""

    into: str
    hook: list[str]
    abi: list[str]


class Definitions(_Section):
    """KernelPoint's files in a folder from which the simulator's build generates sources: again whenever a file is newer than
    the sources.

    Attributes:
        into: the folder.
        files: KernelPoint's files in the folder.
        renew: files of the folder whose modification time is renewed when the patch is reverted, so that the build generates
            the sources again.
    """

    into: str
    files: list[str]
    renew: list[str]


class Launcher(_Section):
    """KernelPoint's files for the simulator's job launcher, which finds them by the pattern of their names.

    Attributes:
        into: the folder of the launcher's definitions.
        files: KernelPoint's definitions; ``{CHECKOUT}`` in them is replaced by the checkout's absolute path.
        configurations: KernelPoint's configurations that the definitions name; copied into the folder of the hook's headers.
    """

    into: str
    files: list[str]
    configurations: list[str]


class Description(_Section):
    """Content of a simulator's ``patch.yaml``, checked.

    Attributes:
        known_by: files, relative to the checkout, that every tree of this simulator has.
        sources: glob patterns of the sources in which anchors are looked for.
        include: line that is added after the last ``#include`` of every source that receives a line.

    >>> accelsim = load_description("accelsim")
    >>> accelsim.title, accelsim.copies.into, accelsim.insertions[0].at
    ('Accel-Sim', 'gpu-simulator/kernelpoint', 'statement')
    """

    version: Literal[1]
    simulator: str
    title: str
    known_by: Annotated[list[str], Field(min_length=1)]
    sources: Annotated[list[str], Field(min_length=1)]
    include: str
    copies: Copies
    definitions: Definitions | None = None
    launcher: Launcher | None = None
    captures: list[Capture] = []
    insertions: Annotated[list[Insertion], Field(min_length=1)]
    build: list[BuildLine] = []
    folder: Path
    abi_folder: Path


def patchable() -> dict[str, Path]:
    """Simulators that can be patched, by name, each with its folder: every folder with a ``patch.yaml``.

    >>> {"accelsim", "macsim"} <= {*patchable()}
    True
    """
    package = Path(kernelpoint.__file__).parent
    installed = package.glob("patches/*/patch.yaml")
    in_checkout = package.parents[1].glob("*_patch/patch.yaml")
    folders = {path.parent.name.removesuffix("_patch"): path.parent for path in (*in_checkout, *installed)}
    return dict(sorted(folders.items()))


def load_description(simulator: str, folder: Path | None = None) -> Description:
    """Read the description of a patch, from `folder` or from the package.

    Raises:
        PatchError: the simulator is unknown, or its description is missing or wrong.

    >>> load_description("gem5")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    kernelpoint.errors.PatchError: simulator: got 'gem5'; allowed: ...
    """
    folders = patchable()
    if folder is None and simulator not in folders:
        raise PatchError(f"simulator: got {simulator!r}; allowed: {', '.join(folders)}")
    folder = folder or folders[simulator]
    path = folder / "patch.yaml"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Description.model_validate(
            {**content, "folder": folder, "abi_folder": kept_at("include/kernelpoint", "plugin/include/kernelpoint")}
        )
    except OSError as error:
        raise PatchError(f"no patch for {simulator} is installed: {error}") from None
    except (yaml.YAMLError, ValidationError, TypeError) as error:
        raise PatchError(f"{path}: {error}") from None


def kept_at(installed: str, checkout: str) -> Path:
    """Path of a folder of KernelPoint's files: inside an installed package, or at the top of a checkout."""
    package = Path(kernelpoint.__file__).parent
    return package / installed if (package / installed).is_dir() else package.parents[1] / checkout
