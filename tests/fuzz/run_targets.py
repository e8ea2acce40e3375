"""Fuzzing of the C++ parts: builds the targets of this folder, runs each for a while, and prints a table.

    python tests/fuzz/run_targets.py [--seconds 60] [--coverage] [TARGET ..]        (make fuzz)

With clang the targets are linked with its libFuzzer; with another compiler, with the small driver beside this file. Both are
guided by coverage and run under the address and undefined behaviour sanitisers. Readers are given files in memory; sequences
of the ABI's calls go to the shim, before a double of the embedding (abi). What a target reaches is added to build/fuzz/corpus,
which begins with the seeds (seeds.py); an input that crashes is left in build/fuzz and named.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "reference"))

import compiled
from compiled import ROOT, SANITISERS
from seeds import write_seeds

HERE = Path(__file__).parent
BUILD = ROOT / "build" / "fuzz"
CORPUS = BUILD / "corpus"
BESIDE = {"abi": [ROOT / "plugin" / "runtime" / "shim" / "shim.cc"], "loader": []}  # others read files in memory
IN_MEMORY = HERE / "memory_files.cc"
WRAPPED = [f"-Wl,--wrap={name}" for name in ("open", "close", "read", "pread", "stat", "fstat")]
FLAGS = ["-g", "-O1", "-std=c++17", *compiled.INCLUDES, f"-I{HERE}"]
LINK = ["-ldl", "-pthread"]
TARGETS = sorted(path.stem for path in HERE.glob("*.cc") if path.stem not in ("driver", "memory_files"))


def clang() -> str | None:
    """The newest clang++ that is installed."""
    names = [os.environ.get("CXX", ""), "clang++", *(f"clang++-{version}" for version in range(21, 10, -1))]
    return next((name for name in names if "clang" in name and shutil.which(name)), None)


def sources(target: str) -> list[Path]:
    """Everything that a target is linked with."""
    if target in BESIDE:
        return BESIDE[target]
    return [*(path for folder in compiled.WITHOUT_PYTHON for path in compiled.sources(folder)), IN_MEMORY]


def build(targets: list[str], flags: list[str], driver: list[Path], link: list[str], compiler: str, name: str) -> None:
    """Compile what is newer than its object file, and link every target."""
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    headers = max(path.stat().st_mtime for top in (ROOT / "plugin", HERE) for path in top.rglob("*.h"))
    beside = [_object(path, folder, [compiler, *FLAGS, *SANITISERS], headers) for path in driver]
    for target in targets:
        command = [compiler, *FLAGS, *flags]
        objects = [_object(path, folder, command, headers) for path in [HERE / f"{target}.cc", *sources(target)]]
        wrapped = WRAPPED if IN_MEMORY in sources(target) else []
        _call([compiler, *link, *objects, *beside, *wrapped, *LINK, "-o", folder / target])


def _object(source: Path, folder: Path, command: list[str], headers: float) -> Path:
    path = folder / (source.relative_to(ROOT).as_posix().replace("/", "_") + ".o")
    if not path.exists() or path.stat().st_mtime < max(source.stat().st_mtime, headers):
        _call([*command, "-c", source, "-o", path])
    return path


def _call(command: list[object]) -> None:
    subprocess.run([str(word) for word in command], check=True)


def fuzz(target: str, folder: Path, seconds: int) -> tuple[bool, str]:
    """Run one target; whether it survived, and its row of the table."""
    corpus = CORPUS / target
    write_seeds(target, corpus)
    command = [
        folder / target,
        f"-max_total_time={seconds}",
        "-max_len=8192",
        "-timeout=60",
        "-print_final_stats=1",
    ]
    done = subprocess.run(
        [*map(str, command), f"-artifact_prefix={BUILD}/{target}-", str(corpus)],
        capture_output=True, text=True, errors="replace", cwd=BUILD, check=False,
        env={**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=0", "KERNELPOINT_SOURCE": str(ROOT)},
    )  # fmt: skip
    runs = re.search(r"Done (\d+) runs in ([\d.]+) second", done.stderr)
    edges = re.findall(r"cov: (\d+)|, (\d+) edges", done.stderr)
    if done.returncode or runs is None:
        print(done.stderr[-4000:], file=sys.stderr)
        return False, f"{target:16} FAILED: see {BUILD}"
    rate = int(runs[1]) / max(float(runs[2]), 1)
    return (
        True,
        f"{target:16} {int(runs[1]):>12,} {rate:>10,.0f} {''.join(edges[-1]):>8} {len(list(corpus.iterdir())):>8}",
    )


def coverage(targets: list[str], compiler: str) -> None:
    """Lines of the readers that each target's corpus reaches; needs clang and llvm-cov."""
    suffix = compiler.removeprefix("clang++")
    build(targets, ["-fprofile-instr-generate", "-fcoverage-mapping"], [HERE / "driver.cc"],
          ["-fprofile-instr-generate", *SANITISERS], compiler, "coverage")  # fmt: skip
    for target in targets:
        raw, merged = BUILD / f"{target}.profraw", BUILD / f"{target}.profdata"
        program = BUILD / "coverage" / target
        write_seeds(target, CORPUS / target)
        subprocess.run([program, "-runs=0", str(CORPUS / target)], env={**os.environ, "LLVM_PROFILE_FILE": str(raw)},
                       check=True, capture_output=True)  # fmt: skip
        _call([f"llvm-profdata{suffix}", "merge", raw, "-o", merged])
        table = subprocess.run([f"llvm-cov{suffix}", "report", program, f"-instr-profile={merged}", *map(str, sources(target))],
                              capture_output=True, text=True, check=True)  # fmt: skip
        print(f"-- {target}\n" + "\n".join(line[:40] + line[-60:] for line in table.stdout.splitlines()))


def main() -> None:
    """Build, run, tell."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=int, default=60, help="for each target")
    arguments.add_argument("--coverage", action="store_true", help="tell the lines that the corpus reaches, and run nothing")
    arguments.add_argument("targets", nargs="*", default=TARGETS, metavar="TARGET", help=", ".join(TARGETS))
    options = arguments.parse_args()
    compiler = clang()
    if options.coverage:
        if compiler is None:
            sys.exit("coverage by line needs clang++ and llvm-cov")
        return coverage(options.targets, compiler)
    if compiler is not None:
        folder = BUILD / "libfuzzer"
        build(options.targets, ["-fsanitize=fuzzer-no-link", *SANITISERS], [], ["-fsanitize=fuzzer", *SANITISERS], compiler,
              folder.name)  # fmt: skip
    else:
        folder, compiler = BUILD / "driver", os.environ.get("CXX", "c++")
        build(options.targets, ["-fsanitize-coverage=trace-pc", *SANITISERS], [HERE / "driver.cc"], SANITISERS, compiler,
              folder.name)  # fmt: skip
    print(f"{'target':16} {'executions':>12} {'a second':>10} {'edges':>8} {'inputs':>8}", flush=True)
    survived = True
    for target in options.targets:
        alive, row = fuzz(target, folder, options.seconds)
        survived &= alive
        print(row, flush=True)
    sys.exit(0 if survived else 1)


if __name__ == "__main__":
    main()
