// What tells equal traces from others, without parsing them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "native/trace/stream_hash.h"

namespace kernelpoint {

constexpr uint32_t content_version = 1;  // raised whenever equal traces would hash differently than before

// All that a reading of a trace depends on: its text without the kernel's number and CUDA stream.
struct Content {
    StreamHash hash;
    uint64_t bytes = 0;
};

// Only .traceg files are compared, packed or not; none of others, and of what cannot be read.
std::optional<Content> read_content(const std::string& path);

// The contents of many traces; `goes_on` is asked with the number of those that are done, see in_parallel. False if it
// said no: the results are of no use.
bool read_contents(const std::vector<std::string>& paths, unsigned threads,
                   std::vector<std::optional<Content>>& results, const std::function<bool(uint64_t)>& goes_on);

}  // namespace kernelpoint
