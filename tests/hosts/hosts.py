"""Every host behind one interface: what it is given, what it did, and what it cannot do."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from miniatures import patched_program
from modules import module_of

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
INCLUDE = ROOT / "plugin" / "include"
LAUNCHES = 6


class Totals(dict[str, float]):
    """The totals that a host stated, by name; a missing one is told with those that there are."""

    def __missing__(self, name: str) -> float:
        raise AssertionError(f"the host states no total {name!r}; it states: {', '.join(self) or 'none'}")


@dataclass
class Run:
    """Output of one run: exit code, standard output and error, the plugin's log, and what the host stated of its totals.

    totals: as numbers, under the names `launches`, `simulated` and `passes` (of the summary), the name of each estimate
        (`cycles`, `instructions`, `ipc`, those of its counters), `<name>_half_width` where a bound is stated; of a host of
        several processes also `<prefix><number>_simulated` and `<prefix><number>_cycles`.
    """

    code: int
    out: str
    err: str
    log: list[str]
    totals: dict[str, float] = field(default_factory=Totals)

    def calls(self, word: str) -> list[list[str]]:
        """Calls of one kind as words; the first is the launch, as process:launch."""
        return [line.split()[1:] for line in self.log if line.split()[0] == word]

    def units(self, word: str) -> list[str]:
        """The launches of one kind of call, in order."""
        return [call[0] for call in self.calls(word)]

    def counters(self) -> set[str]:
        """Names of the counters of every result."""
        return {name for call in self.calls("complete") for name in call[7::2]}


class HostUnderTest:
    """One host with a workload of six launches in each of its processes.

    Attributes:
        name: how the suite calls it; `pytest -k` selects by it.
        can: of "stop" (a launch inside), "processes" (more than one), "overlap" (launches in flight together),
            "reorder" (those may end in another order than they began), "describe" (its launches, to the plugin) and
            "execute" (launches that are not simulated run functionally; it states the total `memory` of what they wrote).
        process_prefix: what a process' totals are named with, before its number.
        closed: standard streams that its program is started without.
        reads_no_broken_trace: True where the plugin reads traces to their end (KP_HOST_NEEDS_WHOLE_TRACES), so that the host is
            asked for no launch that it cannot simulate.
        issues_at_once: True where no launch of its workload has a CTA left to issue at cycle 40, where the suite stops one.
    """

    name = ""
    can: frozenset[str] = frozenset()
    process_prefix = "process"
    reads_no_broken_trace = False
    issues_at_once = False

    def __init__(self, plugin: Path, build: Path) -> None:
        self.plugin, self.build = plugin, build
        self.closed: tuple[int, ...] = ()

    def run(self, folder: Path, script: str, processes: int = 1, broken: int | None = None, in_flight: int = 1) -> Run:
        """Run a script of the scripted plugin over a fresh workload.

        Args:
            folder: an empty folder for all that the run writes.
            script: what the host is given as KernelPoint's configuration; write it to a file. `scripted_boundary.py` says what
                stands in it; the scripted plugin writes its log beside that file.
            processes: how many; above 1 only for a host that can.
            broken: a launch of the first process that cannot be simulated; none: all can.
            in_flight: launches in flight together; above 1 only for a host that can.
        """
        raise NotImplementedError

    def _execute(self, command: list[str], script: Path, cwd: Path) -> tuple[int, str, str, list[str]]:
        environment = {**os.environ, "KERNELPOINT_PLUGIN": str(self.plugin), "ASAN_OPTIONS": "detect_leaks=0:handle_sigill=2"}
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            preexec_fn=lambda: [os.close(stream) for stream in self.closed] and None,
        )
        log = Path(f"{script}.log")
        return done.returncode, done.stdout, done.stderr, log.read_text().splitlines() if log.exists() else []


def printed(text: str, prefix: str) -> Totals:
    """Lines `prefix name = number` as numbers; the last of each name."""
    values = re.findall(rf"^{prefix}(\w+) = (\S+)$", text, re.MULTILINE)
    return Totals({name: float(value) for name, value in values if re.fullmatch(r"[-+.\deEnaif]+", value)})


class CHost(HostUnderTest):
    """examples/c_host, in C99."""

    name = "c_host"
    can = frozenset({"stop", "processes", "overlap", "reorder", "describe"})

    def __init__(self, plugin: Path, build: Path) -> None:
        super().__init__(plugin, build)
        self.program = build / "c_host"
        source = ROOT / "examples" / "c_host" / "c_host.c"
        strict = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers", "-fsanitize=address,undefined"]
        options = ["-std=c99", "-D_POSIX_C_SOURCE=200809L", *strict, f"-I{INCLUDE}"]
        subprocess.run(["gcc", *options, str(source), "-o", str(self.program), "-ldl"], check=True, timeout=120)

    def run(self, folder: Path, script: str, processes: int = 1, broken: int | None = None, in_flight: int = 1) -> Run:
        config, lists = folder / "script.txt", []
        config.write_text(script)
        for process in range(processes):
            lines = [f"{1000 + 100 * i} {200 + i} {i}" for i in range(LAUNCHES)]
            if broken is not None:
                lines[broken] = "broken"
            lists.append(folder / f"list{process}")
            lists[-1].write_text("".join(f"{line}\n" for line in lines))
        command = [str(self.program), str(config), str(in_flight), *map(str, lists)]
        code, out, err, log = self._execute(command, config, folder)
        return Run(code, out, err, log, printed(out, ""))


class EmbeddedHost(HostUnderTest):
    """kernelpoint-host: the fast model with a command line. One process, one launch at a time."""

    name = "kernelpoint-host"
    can = frozenset({"stop"})
    issues_at_once = True

    def run(self, folder: Path, script: str, processes: int = 1, broken: int | None = None, in_flight: int = 1) -> Run:
        bench_module = module_of(TESTS / "host" / "bench.py")
        chain, warp, trace = bench_module.chain, bench_module.warp, bench_module.trace
        bench = bench_module.Bench(folder, self.build)
        launches = [trace([[warp(chain(10 * (i + 1)))]], name=f"k{i}") for i in range(LAUNCHES)]
        if broken is not None:
            launches[broken] = launches[broken].replace("#END_TB\n", "")
        config = folder / "script.txt"
        config.write_text(script)
        command = bench.command(bench.workload(*launches), "-kernel_sampling", str(config))
        code, out, err, log = self._execute(command, config, folder)
        return Run(code, out, err, log, printed(out, "kernelpoint_"))


class AccelSim(HostUnderTest):
    """The miniature with Accel-Sim's names, patched. One process, one launch at a time."""

    name = "accelsim miniature"
    can = frozenset({"stop"})
    reads_no_broken_trace = True

    def __init__(self, plugin: Path, build: Path) -> None:
        super().__init__(plugin, build)
        self.miniature, self.program = patched_program("accelsim", build)

    def run(self, folder: Path, script: str, processes: int = 1, broken: int | None = None, in_flight: int = 1) -> Run:
        workload = self.miniature.write_workload(folder / "workload")
        config = workload.with_name("script.txt")
        config.write_text(script)
        command = [str(self.program), "-trace", str(workload), "-kernel_sampling", str(config)]
        code, out, err, log = self._execute(command, config, workload.parent)
        return Run(code, out, err, log, printed(out, "kernelpoint_"))


class MacSim(HostUnderTest):
    """The miniature with MacSim's names, patched. One process, one launch at a time; stops nothing inside."""

    name = "macsim miniature"
    can = frozenset()
    reads_no_broken_trace = True

    def __init__(self, plugin: Path, build: Path) -> None:
        super().__init__(plugin, build)
        self.miniature, self.program = patched_program("macsim", build)

    def run(self, folder: Path, script: str, processes: int = 1, broken: int | None = None, in_flight: int = 1) -> Run:
        workload = self.miniature.write_workload(folder / "workload")
        where = folder / "run"
        where.mkdir()
        (where / "trace_file_list").write_text(f"1\n{workload}\n")
        config = where / "script.txt"
        config.write_text(script)
        command = [str(self.program), "--kernel_sampling=script.txt"]
        code, out, err, log = self._execute(command, config, where)
        return Run(code, out, err, log, self._totals(where / "kernelpoint.stat.out"))

    @staticmethod
    def _totals(path: Path) -> Totals:
        rows = [line.split() for line in path.read_text().splitlines() if line] if path.exists() else []
        return Totals({row[0].removeprefix("KERNELPOINT_").lower(): float(row[1]) for row in rows})


def of_files(paths: str) -> list[type[HostUnderTest]]:
    """The hosts that Python files define, each a class made of HostUnderTest; the files are separated as in PATH."""
    modules = [module_of(Path(path)) for path in paths.split(os.pathsep) if path]
    defined = [made for module in modules for made in vars(module).values() if isinstance(made, type)]
    return [made for made in defined if issubclass(made, HostUnderTest) and made is not HostUnderTest]


HOSTS = (CHost, EmbeddedHost, AccelSim, MacSim, *of_files(os.environ.get("KERNELPOINT_HOSTS", "")))
