// Finds and opens the embedding library, which brings Python into the process.
#ifndef KP_SHIM_LOAD_H
#define KP_SHIM_LOAD_H

#include "embedding/embedding.h"

namespace kp::shim {

// The embedding, opened by the first successful call; NULL with fail() set when it cannot be opened.
const kp_embedding* load_embedding();

// The embedding, or NULL while no session was opened.
const kp_embedding* loaded_embedding();

}  // namespace kp::shim
#endif
