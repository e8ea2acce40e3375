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

// Text of a trace without the launch's number and CUDA stream, which no reader uses.
struct Content {
    StreamHash hash;
    uint64_t bytes = 0;
};

// Reads the contents of many traces; none for a file that is unreadable or no .traceg. `report` gets the number that
// is done.
std::vector<std::optional<Content>> read_contents(const std::vector<std::string>& paths, unsigned threads,
                                                  const std::function<void(uint64_t)>& report);

}  // namespace kernelpoint
