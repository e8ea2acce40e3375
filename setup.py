"""Builds the C++ parts with the rest of the package: what each is and what it may link stands in plugin/README.md.

Build logic only; metadata stands in pyproject.toml.
"""

import os
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pybind11
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PATCHES = [path.parent.name for path in ROOT.glob("*_patch/patch.yaml")]
BESIDE = {"plugin/include": "include", **{name: f"patches/{name.removesuffix('_patch')}" for name in PATCHES}}
# -MMD lists the files that a compiler read beside its object. Python's own flags hold -g: 40 MB.
CXXFLAGS = ["-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-Wall", "-Wextra", "-MMD"]
STRIPPED = "-Wl,-s"  # names of our own functions, which nothing looks up


def sources(*folders: str, for_python: bool) -> list[str]:
    """All sources below folders of plugin; those of `bindings` are for Python's module only."""
    found = [p.relative_to(ROOT) for f in folders for p in (ROOT / "plugin" / f).rglob("*.cc")]
    return sorted(str(p) for p in found if for_python or "bindings" not in p.parts)


def shared_libpython() -> Path | None:
    """This Python's shared library, which embedding needs: a static libpython.a cannot go into another library.

    Looked for on disk, because there are Pythons (conda's) that have one and still say Py_ENABLE_SHARED=0.
    """
    variables = sysconfig.get_config_vars()
    stem = f"libpython{variables.get('LDVERSION')}.so"
    names = [variables.get("INSTSONAME") or "", f"{stem}.1.0", stem]
    folders = [variables.get("LIBDIR") or "", f"{sys.base_prefix}/lib"]
    candidates = [Path(folder, name) for folder in folders for name in names if ".so" in name]
    return next((path for path in candidates if path.is_file()), None)


class Target(Extension):
    """A C++ target: `kind` is "module" (importable), "library" (a simulator dlopens it) or "program"."""

    def __init__(self, name: str, kind: str, folders: list[str], **options):
        options.setdefault("include_dirs", []).extend(["plugin/include", "plugin"])
        options.setdefault("extra_link_args", []).extend([STRIPPED, "-Wl,-z,defs" if kind == "library" else "-Wl,-O1"])
        found = sources(*folders, for_python=kind == "module")
        super().__init__(name, found, extra_compile_args=list(CXXFLAGS), language="c++", **options)
        self.kind = kind


def embedding(libpython: Path) -> Target:
    return Target(
        "kernelpoint.lib.libkernelpoint_embedding",
        "library",
        ["runtime/embedding"],
        include_dirs=[pybind11.get_include(), sysconfig.get_path("include")],
        libraries=[f":{libpython.name}", "dl"],
        extra_link_args=[f"-L{libpython.parent}"],  # linked there; the shim opens the one of the environment
    )


def shim() -> Target:
    flagged = sysconfig.get_config_var("LDVERSION")
    named = {
        "KP_PYTHON": sysconfig.get_config_var("py_version_short"),
        "KP_LDVERSION": flagged,
        "KP_LIBPYTHON": libpython.name if (libpython := shared_libpython()) else f"libpython{flagged}.so.1.0",
        "KP_BUILD_PYTHON": sys.executable,
    }
    macros = [(name, f'"{value}"') for name, value in named.items()]
    return Target("kernelpoint.lib.libkernelpoint", "library", ["runtime/shim"], libraries=["dl"], define_macros=macros)


def targets() -> list[Target]:
    found = [
        Target(
            "kernelpoint._native",
            "module",
            ["native", "fast_model", "simulators"],
            include_dirs=[pybind11.get_include()],
            libraries=["dl"],
        ),
        shim(),
        Target("kernelpoint.bin.kernelpoint-probe", "program", ["runtime/probe"], libraries=["dl"]),
        Target(
            "kernelpoint.bin.kernelpoint-host",
            "program",
            ["host", "fast_model", "native/trace", "native/replay", "simulators"],
            libraries=["dl"],
        ),
    ]
    if libpython := shared_libpython():
        found.append(embedding(libpython))
    else:
        print(
            f"warning: {sys.executable} has no shared libpython (Py_ENABLE_SHARED=0): simulators will not be able "
            "to load KernelPoint. Install a Python built with --enable-shared; see `kernelpoint doctor`.",
            file=sys.stderr,
        )
    return [t for t in found if t.sources]


class BuildTargets(build_ext):
    """build_ext that also links plain shared libraries and programs, and compiles each folder once for all of them."""

    def get_ext_filename(self, fullname: str) -> str:
        target = next((t for t in targets() if t.name.split(".")[-1] == fullname.split(".")[-1]), None)
        if target is None or target.kind == "module":
            return super().get_ext_filename(fullname)
        suffix = ".so" if target.kind == "library" else ""
        return os.path.join(*fullname.split(".")) + suffix

    def copy_extensions_to_source(self) -> None:
        for target in self.extensions:  # an editable install copies there, but makes no folder
            (ROOT / "python" / Path(*target.name.split(".")[:-1])).mkdir(exist_ok=True)
        super().copy_extensions_to_source()

    def build_extensions(self) -> None:
        self._objects = self._compile(self.extensions)
        for target in self.extensions:
            self.build_extension(target)

    def build_extension(self, ext: Target) -> None:
        output = Path(self.get_ext_fullpath(ext.name))
        output.parent.mkdir(parents=True, exist_ok=True)
        link = self.compiler.link_executable if ext.kind == "program" else self.compiler.link_shared_object
        options = {} if ext.kind == "program" else {"build_temp": self.build_temp}
        link(
            [self._objects[unit] for unit in self._units(ext)],
            str(output),
            libraries=ext.libraries,
            extra_postargs=ext.extra_link_args,
            target_lang="c++",
            **options,
        )

    def _units(self, ext: Target) -> dict[str, list[str]]:
        """Files that the compiler is given: one a folder, with the folder's sources, relative to `plugin`."""
        found: dict[str, list[str]] = {}
        for source in ext.sources:
            folder, name = os.path.split(source.removeprefix("plugin/"))
            found.setdefault(f"{self.build_temp}/{folder.replace('/', '_')}.cc", []).append(f"{folder}/{name}")
        return found

    def _compile(self, extensions: list[Target]) -> dict[str, str]:
        """Compiles every unit once, whatever the number of targets that link it; objects by unit."""
        units = {unit: (parts, ext) for ext in extensions for unit, parts in self._units(ext).items()}

        def one(unit: str) -> str:
            parts, ext = units[unit]
            write_unit(Path(unit), parts)
            result = self.compiler.object_filenames([unit], output_dir=self.build_temp)[0]
            if not is_current(Path(result)):
                python_include = [sysconfig.get_path("include")] if ext.kind == "module" else []
                self.compiler.compile(
                    [unit],
                    output_dir=self.build_temp,
                    include_dirs=ext.include_dirs + python_include,
                    macros=ext.define_macros,
                    extra_postargs=ext.extra_compile_args,
                )
            return result

        longest_first = sorted(units, key=lambda unit: -len(units[unit][0]))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(zip(longest_first, pool.map(one, longest_first), strict=True))


def write_unit(path: Path, sources: list[str]) -> None:
    """A file that includes sources: the headers that they share are read once."""
    text = "".join(f'#include "{source}"\n' for source in sources)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def is_current(compiled: Path) -> bool:
    """True if an object is newer than this file and than every file of ours that its compiler read."""
    try:
        read = compiled.with_suffix(".d").read_text().replace("\\\n", "").partition(": ")[2].split()
        return all(Path(name).stat().st_mtime < compiled.stat().st_mtime for name in [ROOT / "setup.py", *read])
    except OSError:
        return False


class BuildPackage(build_py):
    """build_py that also takes what stands beside the package in a checkout: the patches and the ABI's headers."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for source, target in BESIDE.items():
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, Path(self.build_lib) / "kernelpoint" / target, dirs_exist_ok=True)


# The Makefile's editable install takes no C++ along: `build_ext --inplace` builds it, once and incrementally.
ext_modules = [] if os.environ.get("KERNELPOINT_WITHOUT_CPP") else targets()
setup(ext_modules=ext_modules, cmdclass={"build_ext": BuildTargets, "build_py": BuildPackage})
