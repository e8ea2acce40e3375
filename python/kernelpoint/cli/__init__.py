"""The `kernelpoint` command: one module per subcommand, imported only when it is called."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import warnings
from typing import Any, NoReturn

# Subcommand -> (module, one line of help); a name without dots is of this package. The function is called like the subcommand.
COMMANDS = {
    "init": ("init", "Write a commented configuration file."),
    "doctor": ("doctor", "Check that simulators can load KernelPoint here."),
    "check": ("check", "Say what is wrong with traces, profiles and outputs."),
    "inspect": ("inspect", "Show header, work and instruction sequence of a launch's trace."),
    "compare": ("compare", "Compare sampling methods, or two sampled runs."),
    "convert": ("convert", "Write Accel-Sim traces in another simulator's layout."),
    "demo": ("demo", "Simulate a small workload in full and sampled, and write a page."),
    "plan": ("plan", "Read every launch once, cluster, and forecast the time of a run."),
    "patch": ("patch", "Put the hook into a simulator's source tree, or take it out."),
    "run": ("run", "Simulate one run with many simulators at once."),
    "status": ("status", "Show how far runs are, while they go on and afterwards."),
    "report": ("report", "Show a run, as text, page, or files for other tools."),
    "pack": ("pack", "Write the sample of a run into one file, or unpack one."),
    "expand": ("expand", "Write the list of all launches of a program with CUDA graphs."),
    "select": ("select", "Draw the launches to trace; join their traces."),
    "train": ("kernelpoint_lab.commands.train", "Train an encoder on traces."),
    "synth": ("kernelpoint_lab.commands.synth", "Write a synthesised workload as traces."),
}


# Title -> subcommands, as the overview lists them.
GROUPS = {
    "Every day": ("check", "patch", "plan", "run", "report", "compare", "select", "doctor"),
    "Files": ("init", "status", "inspect", "expand", "convert", "pack"),
    "Laboratory": ("demo", "synth", "train"),
}

INTERRUPTED = 130  # exit code of a command that Ctrl-C ended
NOBODY_READS = 141  # exit code of one whose output nobody reads any more, as in `kernelpoint status | head -1`
# Subcommand -> what is kept of it when it is interrupted, and how to go on. Others keep nothing and begin anew.
KEPT = {
    "compare": "With -o, finished runs are in rows.jsonl in that folder; the same command resumes.",
    "convert": "Traces converted so far are kept; the same command resumes.",
    "demo": "The traces are kept once all are written; the same command runs the simulations again.",
    "plan": "Traces read and sequences embedded are in the cache, predictions once all are made; the same command resumes.",
    "run": "Every result in the journal is kept; the same command resumes.",
    "synth": "The folder is incomplete; the same command with --force writes it again.",
    "train": "Finished epochs are in the file OUTPUT.state; the same command with --resume goes on.",
}


COMPLETION = "Completion in your shell: kernelpoint --install-completion"


def main() -> None:
    """Entry point: one clear message and a non-zero exit code for anything a user can cause."""
    from kernelpoint.errors import KernelPointError
    from kernelpoint.extras import missing_package

    _settle_streams()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads spin, and a plan's matrices are small
    if not sys.warnoptions:  # python -W shows them
        warnings.showwarning = _say_nothing
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    program = f"kernelpoint {name[:60]}".rstrip()
    try:
        try:
            _run(name)
        finally:
            sys.stdout.flush()
    except KernelPointError as error:
        sys.stderr.write(f"{program}: {error}\n")
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        missing = missing_package("this command", error.name or "")
        if missing is None:
            raise
        sys.exit(f"{program}: {missing}")
    except BrokenPipeError:
        _give_up_output()
        sys.exit(NOBODY_READS)
    except OSError as error:  # a name too long, a full disk
        _give_up_output()
        sys.exit(f"{program}: {error.filename or 'output'}: {error.strerror or error}")
    except KeyboardInterrupt:
        _end_interrupted(program, name)
    except ImportError as error:
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        _end_interrupted(program, name)  # Ctrl-C while a C++ module was being loaded


def _say_nothing(*warning: object, **more: object) -> None:
    """Stand in for warnings.showwarning: warnings of libraries are for those who change this code, not for users."""


def _end_interrupted(program: str, name: str) -> NoReturn:
    """Print the message on kept results, and exit."""
    sys.stderr.write(f"\n{program}: interrupted. {KEPT.get(name, 'Nothing was written.')}\n")
    sys.exit(INTERRUPTED)


def _settle_streams() -> None:
    """Open all three standard streams, since the next opened file would take the place of a closed one. Characters that a
    stream cannot show are escaped; control characters become visible.
    """
    from kernelpoint.terminal import PlainStream, unfiltered

    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))
    for name in ("stdout", "stderr"):
        stream = unfiltered(getattr(sys, name))
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        setattr(sys, name, PlainStream(stream))


def _give_up_output() -> None:
    """Discard the rest of the standard output, so that Python does not write it again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(name: str) -> None:
    from kernelpoint.errors import ConfigError, did_you_mean

    if "_KERNELPOINT_COMPLETE" in os.environ or name in ("--install-completion", "--show-completion"):
        _complete()
    if name in ("", "-h", "--help"):
        _print_overview()
        sys.exit(0 if name else 2)
    if name == "--version":
        from kernelpoint import __version__

        sys.stdout.write(f"kernelpoint {__version__}\n")
        return
    if name not in COMMANDS:
        raise ConfigError(f"unknown command{did_you_mean(name, COMMANDS)}; allowed: {', '.join(COMMANDS)}")
    if name == "run" and len(sys.argv) > 2 and not {"--", "-h", "--help"} & set(sys.argv):
        raise ConfigError(
            "no -- in the command; the simulator's command follows it: kernelpoint run -c kernelpoint.yaml -- accel-sim.out "
            "-trace LIST ..."
        )
    try:
        command(name)(args=sys.argv[2:], prog_name=f"kernelpoint {name}")
    except SystemExit as end:
        if end.code == INTERRUPTED:  # Typer has caught Ctrl-C
            raise KeyboardInterrupt from None
        raise


def command(name: str) -> Any:
    """A subcommand as an object of Typer's command line library."""
    import typer

    module, text = COMMANDS[name]
    place = module if "." in module else f"kernelpoint.cli.{module}"
    function = getattr(importlib.import_module(place), name.replace("-", "_"))
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    settings = {"help_option_names": ["-h", "--help"]}
    app.command(name=name, help=function.__doc__ or text, context_settings=settings)(function)
    return typer.main.get_command(app)


def _complete() -> None:
    """Answer the shell that completes a line, or set completion up; ends the program."""
    import typer

    class Commands(typer.core.TyperGroup):
        """Subcommands, each imported when it is asked for."""

        def list_commands(self, ctx: Any) -> list[str]:
            return list(COMMANDS)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            return command(cmd_name) if cmd_name in COMMANDS else None

    app = typer.Typer(cls=Commands)
    app.callback()(lambda: None)
    app(prog_name="kernelpoint")


def _print_overview() -> None:
    width = max(map(len, COMMANDS))
    lines = []
    for title, names in GROUPS.items():
        lines += ["", f"{title}:", *(f"  {name:<{width}}  {COMMANDS[name][1]}" for name in names)]
    sys.stdout.write("usage: kernelpoint COMMAND [--help] ...\n" + "\n".join(lines) + f"\n\n{COMPLETION}\n")
