// Launches of a list that run the very same trace.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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

// Two traces are one source if their paths, or all that a simulation reads of them, are equal: the header without the
// kernel's name, its number and its stream, and everything behind it. Only .traceg files are compared, packed or not;
// equal by a hash of 128 bits. What cannot be read is a source of its own. False if `goes_on` ended it.
bool find_sources(const TraceList& list, unsigned threads, const std::function<bool()>& goes_on, Sources& result);

}  // namespace kernelpoint::fast_model
