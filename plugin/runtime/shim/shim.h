// Parts of the shim: the text behind last_error of kp_core, and the embedding library.
#pragma once

#include <string>

// The C ABI, whose functions the plugin exports: the first declaration of a function says whether it is hidden.
#pragma GCC visibility push(default)
#include "kernelpoint/abi.h"
#pragma GCC visibility pop
#include "kernelpoint/state.h"
#include "runtime/embedding/embedding.h"

namespace kernelpoint::shim {

// Stores the reason of a failure for this thread; returns the status.
kp_status fail(kp_status status, const std::string& reason);

// Opens the embedding, which brings Python into the process, unless it is open.
kp_status load_embedding();

// The embedding, or NULL while no session was opened.
const kp_embedding* loaded_embedding();

}  // namespace kernelpoint::shim
