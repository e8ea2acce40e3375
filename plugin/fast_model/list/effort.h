// Threads and memory of a run over a list. The result does not depend on it.
#pragma once

#include <cstdint>

namespace kernelpoint::fast_model {

struct Effort {
    unsigned threads = 1;
    uint64_t memory_bytes = 512 << 20;  // for outcomes of launches that may come again
    uint64_t segment_bytes = 8 << 20;   // text of the traces that a segment is the first to have
};

}  // namespace kernelpoint::fast_model
