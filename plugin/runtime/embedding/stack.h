// Test for stack enough for Python on the calling thread.
#pragma once

#include <cstddef>

namespace kernelpoint::embedding {

// Numerics: importing numpy, the deepest thing that a plain decision was seen to do, needs about half of this.
constexpr size_t kLeastStack = 512 << 10;

// Throws Failure (KP_EINVAL) where the calling thread has less than kLeastStack left. Where the stack is not the
// thread's own (coroutines) nothing is known of it, and nothing is refused.
void check_stack();

}  // namespace kernelpoint::embedding
