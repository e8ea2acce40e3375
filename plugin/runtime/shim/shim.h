// Parts of the shim: the text behind last_error of kp_core, and the embedding library.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

// The C ABI, whose functions the plugin exports: the first declaration of a function says whether it is hidden.
#pragma GCC visibility push(default)
#include "kernelpoint/abi.h"
#pragma GCC visibility pop
#include "kernelpoint/state.h"
#include "runtime/embedding/embedding.h"

namespace kernelpoint::shim {

// Stores the reason of a failure for this thread; returns the status.
kp_status fail(kp_status status, const std::string& reason);

// The Python of the environment that the plugin is installed in, as it says itself.
struct Python {
    std::string executable, version;
    std::vector<std::string> folders;  // where its shared library may be
};

// Chooses it: KERNELPOINT_PYTHON, which then has to work; <prefix>/bin/pythonX.Y where the package lies in
// <prefix>/lib/pythonX.Y; the Python that built the plugin. Throws Refused.
//   library  path of the plugin
Python choose_python(const std::string& library);

// Why no Python can be had.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Opens the embedding, which brings Python into the process, unless it is open.
kp_status load_embedding();

// The embedding, or NULL while no session was opened.
const kp_embedding* loaded_embedding();

}  // namespace kernelpoint::shim
