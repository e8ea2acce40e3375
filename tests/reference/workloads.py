"""Synthetic workloads for tests that are about something else."""

from pathlib import Path

from trace_writer import cta, small_trace

from kernelpoint_lab.synth.compose import compose
from kernelpoint_lab.synth.lists import write_list


def synthesised(folder: Path, name: str, launches: int, **sizes: int | list[int]) -> Path:
    """The list of a workload, which is written into a folder; its sizes are small where none are given."""
    values = {key: value if isinstance(value, list) else [value] for key, value in sizes.items()}
    request = compose(name, launches=launches, sizes=values)
    folder.mkdir(parents=True, exist_ok=True)
    write_list(request.sequence, folder, request.launches, request.description)
    return folder / "kernelslist.g"


def one_trace(folder: Path, launches: int) -> Path:
    """A list of launches that are all of one trace; a list that is written again would be another one."""
    if not (path := folder / "kernelslist.g").exists():
        (folder / "kernel-1.traceg").write_text(small_trace(cta(["0000 ffffffff 0 EXIT 0 0"])))
        path.write_text("kernel-1.traceg\n" * launches)
    return path
