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

// None of a file that is no .traceg, packed or not, or that cannot be read.
std::optional<Content> read_content(const std::string& path);

// The contents of many traces; `goes_on` is asked with the number of those that are done, see in_parallel. False if it
// said no: the results are of no use.
bool read_contents(const std::vector<std::string>& paths, unsigned threads,
                   std::vector<std::optional<Content>>& results, const std::function<bool(uint64_t)>& goes_on);

}  // namespace kernelpoint
