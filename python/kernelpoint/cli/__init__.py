"""The `kernelpoint` command: one module per subcommand, imported only when it is called."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import warnings
from typing import Any, NoReturn

# Command -> (module, one line of help); a module without dots is of this package. Its function is called like the last word.
COMMANDS = {
    "plan": ("plan", "Read every launch once, cluster, and forecast the time of a run."),
    "run": ("run", "Simulate one run with many simulators at once."),
    "report": ("report", "Show a run, as text, page, or files for other tools."),
    "compare": ("compare", "Compare sampling methods, or two sampled runs."),
    "select": ("select", "Draw the launches to trace; join their traces."),
    "patch": ("patch", "Put the hook into a simulator's source tree, or take it out."),
    "check": ("check", "Say what is wrong with traces, profiles and outputs."),
    "doctor": ("doctor", "Check that simulators can load KernelPoint here."),
    "demo": ("demo", "Simulate a small workload in full and sampled, and write a page."),
    "file init": ("init", "Write a commented configuration file."),
    "file status": ("status", "Show how far runs are, while they go on and afterwards."),
    "file inspect": ("inspect", "Show header, work and instruction sequence of a launch's trace."),
    "file expand": ("expand", "Write the list of all launches of a program with CUDA graphs."),
    "file convert": ("convert", "Write Accel-Sim traces in another simulator's layout."),
    "file pack": ("pack", "Write the sample of a run into one file, or unpack one."),
    "lab synth": ("kernelpoint_lab.commands.synth", "Write a synthesised workload as traces."),
    "lab train": ("kernelpoint_lab.commands.train", "Train an encoder on traces."),
}
# First word of the commands of a group -> one line of help.
GROUPS = {
    "file": "Configurations, traces, lists and samples as files.",
    "lab": "Synthesised workloads; training of encoders.",
}
FIRST = "demo"  # not in the overview's list, but in its last lines

INTERRUPTED = 130  # exit code of a command that Ctrl-C ended
NOBODY_READS = 141  # exit code of one whose output nobody reads any more, as in `kernelpoint file status | head -1`
# By command: the message that follows an interruption. It says which results are kept and how to go on.
KEPT = {
    "compare": "With -o, finished runs are in rows.jsonl in that folder; the same command resumes.",
    "file convert": "Traces converted so far are kept; the same command resumes.",
    "demo": "The traces are kept once all are written; the same command runs the simulations again.",
    "plan": "Traces read and sequences embedded are in the cache, predictions once all are made; the same command resumes.",
    "run": "Every result in the journal is kept; the same command resumes.",
    "lab synth": "The folder is incomplete; the same command with --force writes it again.",
    "lab train": "Finished epochs are in the file OUTPUT.state; the same command with --resume goes on.",
}


USAGE = "usage: kernelpoint COMMAND [--help] ..."
CLOSING = "First try: kernelpoint demo\nCompletion in your shell: kernelpoint --install-completion"


def main() -> None:
    """Entry point of the command `kernelpoint`. An error of the user gives one message and a non-zero exit code."""
    from kernelpoint.errors import KernelPointError
    from kernelpoint.extras import needs_extra

    _settle_streams()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads spin, and a plan's matrices are small
    if not sys.warnoptions:  # python -W shows them
        warnings.showwarning = _say_nothing
    name, arguments = _split(sys.argv[1:])
    program = f"kernelpoint {name[:60]}".rstrip()
    try:
        try:
            with needs_extra("this command"):
                _run(name, arguments)
        finally:
            sys.stdout.flush()
    except KernelPointError as error:
        sys.stderr.write(f"{program}: {error}\n")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        _give_up_output()
        sys.exit(NOBODY_READS)
    except OSError as error:  # a name too long, a full disk
        _give_up_output()
        sys.exit(f"{program}: {error.filename or 'output'}: {error.strerror or error}; name another file or folder")
    except KeyboardInterrupt:
        _end_interrupted(program, name)
    except ImportError as error:
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        _end_interrupted(program, name)  # Ctrl-C while a C++ module was being loaded


def _say_nothing(*warning: object, **more: object) -> None:
    """Discard a warning of a library, which users cannot act on (replaces warnings.showwarning)."""


def _end_interrupted(program: str, name: str) -> NoReturn:
    """Print that results are kept and how to resume, then exit."""
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


def _split(words: list[str]) -> tuple[str, list[str]]:
    """Split a command line into the command's name (two words in a group) and its arguments.

    >>> _split(["file", "init", "-o", "k.yaml"]), _split(["plan", "traces"]), _split(["lab", "--help"])
    (('file init', ['-o', 'k.yaml']), ('plan', ['traces']), ('lab', ['--help']))
    """
    length = 2 if len(words) > 1 and words[0] in GROUPS and not words[1].startswith("-") else 1
    return " ".join(words[:length]), words[length:]


def _run(name: str, arguments: list[str]) -> None:
    from kernelpoint.errors import ConfigError

    if "_KERNELPOINT_COMPLETE" in os.environ or name in ("--install-completion", "--show-completion"):
        _complete()
    if name in ("", "-h", "--help", *GROUPS):
        sys.stdout.write(_overview(name if name in GROUPS else ""))
        sys.exit(0 if {"-h", "--help"} & {name, *arguments} else 2)
    if name == "--version":
        from kernelpoint import __version__

        sys.stdout.write(f"kernelpoint {__version__}\n")
        return
    if name not in COMMANDS:
        raise ConfigError(_unknown(name))
    if name == "run" and arguments and not {"--", "-h", "--help"} & set(arguments):
        raise ConfigError(
            "the command has no --; write it before the simulator's command: kernelpoint run -c kernelpoint.yaml -- "
            "accel-sim.out -trace LIST ..."
        )
    try:
        command(name)(args=arguments, prog_name=f"kernelpoint {name}")
    except SystemExit as end:
        if end.code == INTERRUPTED:  # Typer has caught Ctrl-C
            raise KeyboardInterrupt from None
        raise


def _unknown(name: str) -> str:
    """Message for an unknown command, with the most similar known one.

    >>> _unknown("init")
    'unknown command; write kernelpoint file init'
    """
    from kernelpoint.errors import did_you_mean

    for full in COMMANDS:
        if full.split()[-1] == name.split()[-1]:
            return f"unknown command; write kernelpoint {full}"
    return f"unknown command{did_you_mean(name, COMMANDS)}; allowed: {', '.join(COMMANDS)}"


def command(name: str) -> Any:
    """Command of the command line with this name, as an object of the library Typer."""
    import typer

    module, text = COMMANDS[name]
    place = module if "." in module else f"kernelpoint.cli.{module}"
    function = getattr(importlib.import_module(place), name.split()[-1])
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    settings = {"help_option_names": ["-h", "--help"]}
    app.command(name=name, help=function.__doc__ or text, context_settings=settings)(function)
    return typer.main.get_command(app)


def _complete() -> None:
    """Answer the shell that completes a line, or set completion up; ends the program."""
    import typer

    class Commands(typer.core.TyperGroup):
        """The commands of a group, each imported when it is asked for; the group "" has the commands and the other groups."""

        def list_commands(self, ctx: Any) -> list[str]:
            words = [name.split() for name in COMMANDS]
            if self.name in GROUPS:
                return [last for *group, last in words if group == [self.name]]
            return [*(name for name in COMMANDS if " " not in name), *GROUPS]

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if self.name not in GROUPS and cmd_name in GROUPS:
                return Commands(name=cmd_name, help=GROUPS[cmd_name])
            name = f"{self.name} {cmd_name}" if self.name in GROUPS else cmd_name
            return command(name) if name in COMMANDS else None

    app = typer.Typer(cls=Commands)
    app.callback()(lambda: None)
    app(prog_name="kernelpoint")


def _overview(group: str = "") -> str:
    """Text of `kernelpoint --help`, or of `kernelpoint GROUP --help`."""
    if group:
        rows = {name: text for name, (_, text) in COMMANDS.items() if name.startswith(f"{group} ")}
        return "\n".join([USAGE.replace("COMMAND", f"{group} COMMAND"), "", *_lines(rows), ""])
    rows = {name: text for name, (_, text) in COMMANDS.items() if " " not in name and name != FIRST}
    groups = {f"{name} ...": text for name, text in GROUPS.items()}
    return "\n".join([USAGE, "", *_lines(rows), "", *_lines(groups), "", CLOSING, ""])


def _lines(rows: dict[str, str]) -> list[str]:
    width = max(map(len, rows)) if rows else 0
    return [f"  {name:<{width}}  {text}" for name, text in rows.items()]
