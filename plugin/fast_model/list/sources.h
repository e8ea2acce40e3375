// Launches of a list that run the very same trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "native/trace/content.h"
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

// Two traces are one source if their contents are equal. `contents`: of each launch; empty: equal paths are one source.
Sources find_sources(const TraceList& list, const std::vector<Content>& contents);

}  // namespace kernelpoint::fast_model
