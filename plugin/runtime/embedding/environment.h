// Choice of the Python to be: the executable of the environment that the plugin is installed in.
#pragma once

#include <string>

namespace kernelpoint::embedding {

// The folder that holds the package `kernelpoint` which this library is a part of. Throws Failure when it was moved
// out.
std::string package_parent();

// The executable, checked to exist and to be the version of this libpython. First found of: KERNELPOINT_PYTHON (which
// then has to work), <prefix>/bin/pythonX.Y where the package lies in <prefix>/lib/pythonX.Y, the Python that built
// this library. Throws Failure.
std::string python_executable();

// Throws Failure unless the libpython in this process is of the version that this library was compiled for.
void check_libpython();

}  // namespace kernelpoint::embedding
