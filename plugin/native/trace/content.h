// Content of a trace, as hash and size, so that of equal traces only one is parsed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "native/trace/stream_hash.h"

namespace kernelpoint {

constexpr uint32_t content_version = 1;  // raised whenever equal traces would hash differently than before

// Text of a trace without the kernel's number and CUDA stream, on which no reading depends.
struct Content {
    StreamHash hash;
    uint64_t bytes = 0;
};

// The contents of many traces: none of a file that is no .traceg, packed or not, or that cannot be read. `report` gets
// the number of those that are done, see in_parallel.
std::vector<std::optional<Content>> read_contents(const std::vector<std::string>& paths, unsigned threads,
                                                  const std::function<void(uint64_t)>& report);

}  // namespace kernelpoint
