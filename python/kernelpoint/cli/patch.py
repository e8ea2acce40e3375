"""`kernelpoint patch`: put the hook into a simulator's checkout, or take it out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from kernelpoint.errors import PatchError
from kernelpoint.patching import Plan, State, Tree, load_description, simulators


def patch(
    simulator: Annotated[str, typer.Argument(help=f"One of: {', '.join(simulators())}.", metavar="SIMULATOR")],
    checkout: Annotated[Path, typer.Argument(help="The simulator's checkout.", metavar="CHECKOUT")],
    check: Annotated[bool, typer.Option("--check", help="Change nothing; say whether the tree is patched.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would be added.")] = False,
    revert: Annotated[bool, typer.Option("--revert", help="Take the patch out, to the byte.")] = False,
) -> None:
    """Add the lines and files that let a simulator load KernelPoint; afterwards build the simulator as usual."""
    if check + dry_run + revert > 1:
        raise PatchError("got more than one of --check, --dry-run and --revert; allowed: one of them")
    tree = Tree(checkout, load_description(simulator))
    console = Console(markup=False, highlight=False, soft_wrap=True)
    if check:
        _check(tree, console)
    elif revert:
        changed = tree.revert()
        console.print(f"{checkout}: " + (f"restored {len(changed)} files" if changed else "was not patched"))
    else:
        plan = tree.plan() if dry_run else tree.apply()
        _show(plan, console)
        done = "would be patched (dry run)" if dry_run else f"patched; build {tree.description.title} as usual"
        console.print(f"{checkout}: {done}")


def _check(tree: Tree, console: Console) -> None:
    state = tree.state()
    console.print(f"{tree.root}: {state.value}")
    if state is State.PRISTINE:
        _show(tree.plan(), console)
    if state is not State.PATCHED:
        raise typer.Exit(1)


def _show(plan: Plan, console: Console) -> None:
    for edit in sorted(plan.edits, key=lambda edit: (edit.file, edit.line)):
        console.print(f"{edit.file}:{edit.line + 1}: {edit.name}\n  + {edit.text.strip()}")
    edited = {edit.file for edit in plan.edits}
    for name in plan.files:
        if name not in edited:
            console.print(f"{name}: new file")
