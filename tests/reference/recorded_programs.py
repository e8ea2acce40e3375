"""Runs of the oracle with programs: the embedded host, the miniature simulators, and the real ones where they are named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from journal_story import story
from modules import module_of
from recorded_hosts import cut, profile_of, synthesised

from kernelpoint.session import boundary

TESTS = Path(__file__).resolve().parents[1]
# Of few warp instructions: the real simulators take a second for each launch even so.
SMALL = ("iterative-solver", 12, "rows=64")


def printed(text: str) -> list[str]:
    """The totals and estimates that a simulator prints."""
    return re.findall(r"^\s*((?:gpu_tot_|kernelpoint_|KERNELPOINT_)\w+\s.*)$", text, re.MULTILINE)


def embedded_host(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    from kernelpoint.cli.host import program

    solver, large = synthesised(folder / "host", "iterative-solver", 60), folder / "large"
    from kernelpoint.cli.synth import synth

    synth("axpy", large, launches=3, sizes=["n=65536"])
    small = folder / "small.yaml"
    v100 = next(Path(boundary.__file__).parents[1].rglob("v100.yaml")).read_text()
    small.write_text(re.sub(r"^sms: 80$", "sms: 1", v100, flags=re.MULTILINE))
    profile = profile_of(solver, folder / "host.csv")
    config, journal = folder / "kernelpoint.yaml", folder / "run.kpjournal"
    runs = {f"{p}": (solver, "v100", f"policy: {p}") for p in ("all", "random", "gcl", "kernelpoint")}
    runs |= {f"{p}": (solver, "v100", f"policy: {p}\nprofile: {profile}") for p in ("pka", "sieve", "stem", "allegro")}
    runs["warm-up"] = (solver, "v100", "policy: random\nwarmup: {launches: 1}")
    runs["online"] = (solver, "v100", "policy: kernelpoint\nclusters: online")
    runs["cta"] = (large, str(small), "policy: all\ninside_kernel: cta\nerror_budget: {relative_error: 0.1}")
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
    from kernelpoint.patching import Tree, load_description

    accelsim, macsim = (module_of(TESTS / f"{name}_patch" / "conftest.py") for name in ("accelsim", "macsim"))
    checkout = accelsim.make_checkout(folder / "accelsim", "class_layout")
    Tree(checkout, load_description("accelsim")).apply()
    program = accelsim.build(checkout)
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0"  # a plugin's session lives until the process ends: that is no leak
    other = macsim.make_checkout(folder / "macsim")
    Tree(other, load_description("macsim")).apply()
    macsim_program = macsim.build(other)
    work = folder / "work"
    for yaml in ("policy: all", "policy: random\nseed: 3", "policy: random\nseed: 4\nwarmup: {launches: 1}"):
        for name in ("accelsim", "macsim", "macsim, two applications"):
            shutil.rmtree(work, ignore_errors=True)
            (work / "run").mkdir(parents=True)
            (work / "run" / "kernelpoint.yaml").write_text(f"version: 1\n{yaml}\njournal: run.kpjournal\n")
            if name == "accelsim":
                traces = accelsim.write_workload(work / "traces")
                command = [str(program), "-trace", str(traces), "-kernel_sampling", "kernelpoint.yaml"]
            else:
                lists = [macsim.write_workload(work / "first", [0, 2, 3, 0, 2, 3])]
                lists += [macsim.write_workload(work / "second", [7, 12, 13])] if "two" in name else []
                (work / "run" / "trace_file_list").write_text("".join(f"{w}\n" for w in (len(lists), *lists)))
                command = [str(macsim_program), "--kernel_sampling=kernelpoint.yaml", "--max_num_core_per_appl=8"]
            done = subprocess.run(command, cwd=work / "run", capture_output=True, text=True, timeout=60)
            text = done.stdout + "".join(p.read_text() for p in sorted((work / "run").glob("kernelpoint.stat*")))
            yield f"miniature {name}: {yaml}", [*story(work / "run" / "run.kpjournal"), printed(text), done.returncode]


def accelsim(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    """The real Accel-Sim that KERNELPOINT_ACCELSIM names, on its GPU SM7_QV100; whole, and killed and resumed."""
    if "KERNELPOINT_ACCELSIM" not in os.environ:
        print("accelsim: left out, KERNELPOINT_ACCELSIM names no patched accel-sim.out")
        return
    tests = module_of(TESTS / "accelsim_patch" / "test_accelsim.py")
    traces = synthesised(folder / "traces", *SMALL)
    library = Path(os.environ["KERNELPOINT_PLUGIN"])
    for yaml in ("policy: all", "policy: random\nseed: 3\nerror_budget: {relative_error: 0.05}", "policy: gcl"):
        (folder / "traces" / "kernelpoint.yaml").write_text(f"version: 1\n{yaml}\njournal: run.kpjournal\n")
        journal = folder / "traces" / "run.kpjournal"
        for what, share in (("", None), (", killed", 0.5)):
            if share is not None:
                cut(journal, share)
            program = os.environ["KERNELPOINT_ACCELSIM"]
            code, out, err = tests.run(program, traces, "-kernel_sampling", "kernelpoint.yaml", plugin=library)
            if code != 0:
                raise SystemExit(f"Accel-Sim, {yaml}{what}: {err}")
            yield f"Accel-Sim: {yaml}{what}", [*story(journal), printed(out)]
        journal.unlink()


def macsim(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    """The real MacSim that KERNELPOINT_MACSIM names, with the params.in beside it."""
    if "KERNELPOINT_MACSIM" not in os.environ:
        print("macsim: left out, KERNELPOINT_MACSIM names no patched macsim")
        return
    from kernelpoint.convert import convert_to_macsim

    tests = module_of(TESTS / "macsim_patch" / "test_macsim.py")
    convert_to_macsim(synthesised(folder / "traces", *SMALL), folder / "converted")
    lists, library = [folder / "converted" / "kernel_config.txt"], Path(os.environ["KERNELPOINT_PLUGIN"])
    for yaml in ("policy: all", "policy: random\nseed: 3\nerror_budget: {relative_error: 0.05}"):
        run = folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        (folder / "kernelpoint.yaml").write_text(f"version: 1\n{yaml}\njournal: {run}/run.kpjournal\n")
        option = f"--kernel_sampling={folder / 'kernelpoint.yaml'}"
        code, err = tests.run(os.environ["KERNELPOINT_MACSIM"], run, lists, option, plugin=library)
        if code != 0:
            raise SystemExit(f"MacSim, {yaml}: {err}")
        text = "".join(path.read_text() for path in sorted(run.glob("kernelpoint.stat*")))
        yield f"MacSim: {yaml}", [*story(run / "run.kpjournal"), printed(text)]
