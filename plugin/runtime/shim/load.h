// Finds and opens the embedding library, which brings Python into the process.
#pragma once

#include "runtime/abi_exported.h"
#include "runtime/embedding/embedding.h"

namespace kernelpoint::shim {

// The embedding, opened by the first successful call; NULL with fail() set when it cannot be opened.
const kp_embedding* load_embedding();

// The embedding, or NULL while no session was opened.
const kp_embedding* loaded_embedding();

}  // namespace kernelpoint::shim
