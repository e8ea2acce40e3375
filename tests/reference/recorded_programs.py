"""Runs of the oracle with programs: the embedded host, the miniature simulators, and the real ones where they are named."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from journal_story import story
from miniatures import patched_program
from modules import module_of
from recorded_hosts import BUDGET, cut, profile_of
from workloads import synthesised

from kernelpoint.session import boundary

TESTS = Path(__file__).resolve().parents[1]
# Of few warp instructions: the real simulators take a second for each launch even so.
SMALL = {"name": "iterative-solver", "launches": 12, "rows": 64}
ENOUGH = ("--max_insts1=4000000000",)  # MacSim ends a core at this many instructions


def printed(text: str) -> list[str]:
    """The totals and estimates that a simulator prints, without measured time."""
    lines = re.findall(r"^\s*((?:gpu_tot_|kernelpoint_|KERNELPOINT_)\w+\s.*)$", text, re.MULTILINE)
    return [line for line in lines if "saved_seconds" not in line.lower()]


def embedded_host(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    from kernelpoint.cli.host import program

    solver, large = synthesised(folder / "host", "iterative-solver", 60), folder / "large"
    synthesised(large, "axpy", 3, n=65536)
    small = folder / "small.yaml"
    v100 = next(Path(boundary.__file__).parents[1].rglob("v100.yaml")).read_text()
    small.write_text(re.sub(r"^sms: 80$", "sms: 1", v100, flags=re.MULTILINE))
    profile = profile_of(solver, folder / "host.csv")
    config, journal = folder / "kernelpoint.yaml", folder / "run.kpjournal"
    runs = {f"{p}": (solver, "v100", f"policy: {p}") for p in ("all", "random", "gcl", "kernelpoint")}
    runs |= {f"{p}": (solver, "v100", f"policy: {p}\nprofile: {profile}") for p in ("pka", "sieve", "stem", "allegro")}
    runs["online"] = (solver, "v100", "policy: kernelpoint\nclusters: online")
    runs["pka, projected"] = (
        large,
        str(small),
        "policy: {name: pka, project: true}\nerror_budget: {relative_error: 0.1}",
    )
    for name, (traces, gpu, yaml) in runs.items():
        config.write_text(f"version: 1\n{yaml}\njournal: {journal}\n")
        command = [str(program()), "-trace", str(traces), "-config", gpu, "-kernel_sampling", str(config)]
        for what, share in (("", None), (", killed", 0.5)):
            if share is not None:
                cut(journal, share)
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                raise SystemExit(f"embedded host, {name}{what}: {done.stderr}")
            yield f"embedded host, {name}{what}", [*story(journal), printed(done.stdout)]
        journal.unlink()


def miniatures(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    accelsim, program = patched_program("accelsim", folder)
    macsim, macsim_program = patched_program("macsim", folder)
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0"  # a plugin's session lives until the process ends: that is no leak
    work = folder / "work"
    for yaml in ("policy: all", "policy: random\nseed: 3", "policy: random\nseed: 4"):
        for name in ("accelsim", "macsim"):
            shutil.rmtree(work, ignore_errors=True)
            (work / "run").mkdir(parents=True)
            (work / "run" / "kernelpoint.yaml").write_text(f"version: 1\n{yaml}\njournal: run.kpjournal\n")
            if name == "accelsim":
                traces = accelsim.write_workload(work / "traces")
                command = [str(program), "-trace", str(traces), "-kernel_sampling", "kernelpoint.yaml"]
            else:
                lists = [macsim.write_workload(work / "first", [0, 2, 3, 0, 2, 3])]
                (work / "run" / "trace_file_list").write_text("".join(f"{w}\n" for w in (len(lists), *lists)))
                command = [str(macsim_program), "--kernel_sampling=kernelpoint.yaml"]
            done = subprocess.run(command, cwd=work / "run", capture_output=True, text=True, timeout=60)
            text = done.stdout + "".join(p.read_text() for p in sorted((work / "run").glob("kernelpoint.stat*")))
            yield f"miniature {name}: {yaml}", [*story(work / "run" / "run.kpjournal"), printed(text), done.returncode]


def killed_and_resumed(run: Callable[[str], list[Any]], name: str, journal: Path) -> Iterator[tuple[str, list[Any]]]:
    """A run, and the same with its journal cut in the middle, as a kill leaves it, and gone on with."""
    yield name, run(name)
    cut(journal, 0.5)
    yield f"{name}, killed", run(f"{name}, killed")
    journal.unlink()


def accelsim(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    """The real Accel-Sim that KERNELPOINT_ACCELSIM names, on its GPU SM7_QV100, over launches that are made here, and over the
    recorded list that KERNELPOINT_ACCELSIM_LIST names; each run whole, and killed and resumed."""
    if "KERNELPOINT_ACCELSIM" not in os.environ:
        print("accelsim: left out, KERNELPOINT_ACCELSIM names no patched accel-sim.out")
        return
    tests = module_of(TESTS / "accelsim_patch" / "test_accelsim.py")
    made = synthesised(folder / "made", **SMALL)
    runs = [(made, yaml) for yaml in ("policy: all", f"policy: random\nseed: 3\n{BUDGET % 0.05}", "policy: gcl")]
    if given := os.environ.get("KERNELPOINT_ACCELSIM_LIST"):
        runs.append((linked(Path(given), folder / "recorded"), f"policy: kernelpoint\nseed: 1\n{BUDGET % 0.05}"))
    for traces, yaml in runs:
        traces.with_name("kernelpoint.yaml").write_text(f"version: 1\n{yaml}\njournal: run.kpjournal\n")
        journal = traces.with_name("run.kpjournal")

        def run(name: str, traces: Path = traces, journal: Path = journal) -> list[Any]:
            program, library = os.environ["KERNELPOINT_ACCELSIM"], Path(os.environ["KERNELPOINT_PLUGIN"])
            code, out, err = tests.run(program, traces, "-kernel_sampling", "kernelpoint.yaml", plugin=library)
            if code != 0:
                raise SystemExit(f"{name}: {err}")
            return [*story(journal), printed(out)]

        where = "" if traces == made else f" over {Path(given).name}"
        yield from killed_and_resumed(run, f"Accel-Sim{where}: {yaml}", journal)


def linked(trace_list: Path, folder: Path) -> Path:
    """The list in a folder of its own whose entries lead to those beside it: a run writes nothing beside the recorded list."""
    folder.mkdir()
    for entry in trace_list.absolute().parent.iterdir():
        (folder / entry.name).symlink_to(entry)
    return folder / trace_list.name


def macsim(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    """The real MacSim that KERNELPOINT_MACSIM names, with the params.in beside it, over launches that are made here, and over
    the recorded list that KERNELPOINT_MACSIM_LIST names; each run whole, and killed and resumed."""
    if "KERNELPOINT_MACSIM" not in os.environ:
        print("macsim: left out, KERNELPOINT_MACSIM names no patched macsim")
        return
    from kernelpoint.simulators.macsim.convert import convert_to_macsim

    tests = module_of(TESTS / "macsim_patch" / "test_macsim.py")
    convert_to_macsim(synthesised(folder / "traces", **SMALL), folder / "converted")
    made = folder / "converted" / "kernel_config.txt"
    runs = [(made, yaml) for yaml in ("policy: all", f"policy: random\nseed: 3\n{BUDGET % 0.05}")]
    if given := os.environ.get("KERNELPOINT_MACSIM_LIST"):
        runs.append((Path(given).absolute(), f"policy: kernelpoint\nseed: 1\n{BUDGET % 0.05}"))
    config, journal, place = folder / "kernelpoint.yaml", folder / "run.kpjournal", folder / "run"
    for traces, yaml in runs:
        config.write_text(f"version: 1\n{yaml}\njournal: {journal}\n")

        def run(name: str, traces: Path = traces) -> list[Any]:
            program, library = os.environ["KERNELPOINT_MACSIM"], Path(os.environ["KERNELPOINT_PLUGIN"])
            shutil.rmtree(place, ignore_errors=True)
            code, err = tests.run(program, place, [traces], *ENOUGH, f"--kernel_sampling={config}", plugin=library)
            if code != 0:
                raise SystemExit(f"{name}: {err}")
            return [*story(journal), printed("".join(p.read_text() for p in sorted(place.glob("kernelpoint.stat*"))))]

        where = "" if traces == made else f" over {traces.parent.name}/{traces.name}"
        yield from killed_and_resumed(run, f"MacSim{where}: {yaml}", journal)
