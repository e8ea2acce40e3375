"""Record of the finished parts of an earlier, perhaps interrupted, conversion into the same folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from kernelpoint.errors import TraceError
from kernelpoint.files import append_output, read_regular, write_output

NAME = "kernelpoint_convert.jsonl"
VERSION = 1
MOST_BYTES = 1 << 30


class Manifest:
    """JSON Lines beside the launches' folders: a header, then one line for each finished folder.

    Raises:
        TraceError: the folder contains other files, or a conversion of another list or with other options.
    """

    def __init__(self, folder: Path, source: Path, level: int) -> None:
        self._path = folder / NAME
        header = {"version": VERSION, "source": str(source.resolve()), "level": level}
        if not self._path.exists():
            _refuse_strangers(folder)
            self.finished: dict[str, Any] = {}
            self._write(header)
            return
        lines = _complete_lines(self._path)
        if not lines or lines[0] != header:
            raise TraceError(
                f"{self._path}: this folder contains the conversion {lines[0] if lines else 'of nothing'}, "
                f"asked for is {header}; give another folder, or delete this one"
            )
        self.finished = {line["folder"]: line["files"] for line in lines[1:]}

    def add(self, folder: str, files: list[Any]) -> None:
        """Remember that a folder with these files is complete."""
        self.finished[folder] = files
        self._write({"folder": folder, "files": files})

    def _write(self, line: dict[str, Any]) -> None:
        append_output(self._path, json.dumps(line) + "\n")


def _complete_lines(path: Path) -> list[dict[str, Any]]:
    """The lines; a torn last one, of a conversion that was killed, is cut off."""
    try:
        text = read_regular(path, MOST_BYTES).decode("utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            write_output(path, whole)
        lines = [json.loads(line) for line in whole.splitlines()]
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: expected lines of JSON ({error}); delete the folder and convert again") from error
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, dict) or (number > 1 and not {"folder", "files"} <= line.keys()):
            raise TraceError(
                f"{path}:{number}: expected a finished folder and its files, got {json.dumps(line)[:60]}; delete the folder "
                "and convert again"
            )
    return lines


def _refuse_strangers(folder: Path) -> None:
    found = next(folder.iterdir(), None)
    if found is not None:
        raise TraceError(
            f"{folder}: expected a new or empty folder, or one that `kernelpoint file convert` made; found {found.name}"
        )


def remove_conversion(folder: Path) -> None:
    """Remove the files of a conversion from a folder, and nothing else; a folder without one is not touched.

    >>> import pathlib
    >>> from kernelpoint.simulators.macsim.convert import convert_to_macsim
    >>> _ = convert_to_macsim("traces/kernelslist.g", "converted")
    >>> remove_conversion(pathlib.Path("converted"))
    >>> list(pathlib.Path("converted").glob("Kernel*"))
    []
    """
    if not (folder / NAME).exists():
        return
    for launch in [*folder.glob("Kernel*[0-9]"), *folder.glob("Kernel*.unfinished")]:
        shutil.rmtree(launch)
    for name in ("kernel_config.txt", "kernel_names.txt", NAME):
        (folder / name).unlink(missing_ok=True)
