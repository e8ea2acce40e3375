#!/bin/sh
# Names each missing prerequisite with the package that brings it. Argument: the Python to use.
python="$1"
missing=0
need() { # what, package
    echo "KernelPoint needs $1; install it with: $2" >&2
    missing=1
}

command -v "$python" >/dev/null 2>&1 || { need "Python 3.11 or newer ($python was not found)" "apt install python3 (Debian) or dnf install python3 (Fedora)"; exit 1; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || need "Python 3.11 or newer for make ($python is $("$python" -V 2>&1))" "apt install python3 or dnf install python3.12, then make PYTHON=python3.12"
"$python" -c 'import venv, ensurepip' 2>/dev/null || need "Python's venv module" "apt install python3-venv"
"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || need "Python's headers (Python.h)" "apt install python3-dev or dnf install python3-devel"
compiler="${CXX:-c++}"
if ! echo 'int main() { if (int x = 0; x) {} }' | "$compiler" -std=c++17 -x c++ -fsyntax-only - 2>/dev/null; then
    need "a C++17 compiler ($compiler does not compile C++17)" "apt install g++ or dnf install gcc-c++"
fi
exit $missing
