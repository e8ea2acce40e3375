"""`kernelpoint patch`: put the hook into a simulator's checkout, or take it out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelpoint.cli.console import say
from kernelpoint.errors import PatchError
from kernelpoint.patching import Additions, Description, SourceTree, State, load_description, patchable

PATCHED, CAN_BE_PATCHED, CANNOT = range(3)


def patch(
    simulator: Annotated[str, typer.Argument(help=f"One of: {', '.join(patchable())}.", metavar="SIMULATOR")],
    checkout: Annotated[Path, typer.Argument(help="The simulator's checkout.", metavar="CHECKOUT")],
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit code 0: patched, 1: can be patched, 2: cannot.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; show the lines that would be added.")] = False,
    revert: Annotated[bool, typer.Option("--revert", help="Take the patch out, to the byte.")] = False,
    launcher: Annotated[
        bool,
        typer.Option("--launcher", help="Also add configurations KP5, KP1, KP05 for its job launcher (Accel-Sim)."),
    ] = False,
) -> None:
    """Add the lines and files that let a simulator load KernelPoint; afterwards build the simulator as usual.

    Example: kernelpoint patch accelsim ~/accel-sim-framework
    """
    if check + dry_run + revert > 1:
        raise PatchError("got more than one of --check, --dry-run and --revert; give only one of them")
    description = load_description(simulator)
    if check:
        raise typer.Exit(_check(checkout, description, launcher))
    tree = SourceTree(checkout, description, launcher)
    if revert:
        changed = tree.revert()
        say(f"{checkout}: " + (f"restored {len(changed)} files" if changed else "was not patched"))
    elif tree.state() is State.PATCHED:
        say(f"{checkout}: is patched already; nothing was changed")
    else:
        additions = tree.additions() if dry_run else tree.apply()
        _show(additions)
        done = "would be patched (dry run)" if dry_run else f"patched; build {tree.description.title} as usual"
        say(f"{checkout}: {done}")


def _check(checkout: Path, description: Description, launcher: bool) -> int:
    """Print the patch state of a tree; returns the exit code."""
    try:
        tree = SourceTree(checkout, description, launcher)
        state, additions = tree.state(), tree.additions()
    except PatchError as error:
        say(f"{checkout}: cannot be patched: {error}")
        return CANNOT
    say(f"{tree.root}: {state.value}")
    if state is State.PRISTINE:
        edited = {edit.file for edit in additions.edits}
        added = sum(edit.text.count("\n") or 1 for edit in additions.edits)
        files = len(set(additions.files) - edited)
        say(f"would add {added} lines to {len(edited)} files, and {files} files; --dry-run shows them")
    return PATCHED if state is State.PATCHED else CAN_BE_PATCHED


def _show(additions: Additions) -> None:
    for edit in sorted(additions.edits, key=lambda edit: (edit.file, edit.line)):
        say(f"{edit.file}:{edit.line + 1}: {edit.name}\n  + {edit.text.strip()}")
    edited = {edit.file for edit in additions.edits}
    for name in additions.files:
        if name not in edited:
            say(f"{name}: new file")
