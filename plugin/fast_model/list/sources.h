// Launches of a list that run the very same trace.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "native/trace/stream_hash.h"
#include "native/trace/trace_list.h"

namespace kernelpoint::fast_model {

constexpr uint32_t kNoSource = UINT32_MAX;

struct Sources {
    std::vector<uint32_t> of_launch;  // kNoSource for a launch without a trace
    // Of each source, numbered in the order of their first launches: a path to it, and the size of its text (0: not
    // known).
    std::vector<std::string> paths;
    std::vector<uint64_t> bytes;
};

// All that a simulation reads of a trace: the header without the kernel's name, its number and its stream, and
// everything behind it.
struct Content {
    StreamHash hash;
    uint64_t bytes = 0;
};

// Only .traceg files are compared, packed or not; none of others, and of what cannot be read.
std::optional<Content> read_content(const std::string& path);

// Two traces are one source if their paths or their contents are equal, by a hash of 128 bits. What has no content is a
// source of its own. `contents`: of each distinct path, in the order of first launches; empty: they are read. False if
// `goes_on` ended it.
bool find_sources(const TraceList& list, unsigned threads, const std::function<bool()>& goes_on,
                  std::vector<std::optional<Content>> contents, Sources& result);

}  // namespace kernelpoint::fast_model
