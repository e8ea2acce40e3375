"""The files that the build makes are as small as a wheel should hold."""

import shutil
import subprocess
from pathlib import Path

import pytest

import kernelpoint

PACKAGE = Path(kernelpoint.__file__).parent
BUILT = [*PACKAGE.glob("_native*.so"), *(PACKAGE / "lib").glob("*.so"), *(PACKAGE / "bin").glob("kernelpoint-*")]


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf, of binutils, is not installed")
def test_libraries_and_programs_are_stripped():
    assert len(BUILT) >= 3
    for path in BUILT:
        sections = subprocess.run(["readelf", "--sections", "--wide", path], capture_output=True, text=True, check=True)
        assert ".dynsym" in sections.stdout and not {".symtab", ".debug_info"} & set(sections.stdout.split()), path
