// Parts of a run over a list that others do: on other machines, through whatever brings texts there and back.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fast_model/config.h"
#include "fast_model/list/outcomes.h"
#include "fast_model/list/sources.h"
#include "native/trace/trace_list.h"

namespace kernelpoint::fast_model {

// A segment as others get it. Equal traces have equal paths.
struct SegmentTask {
    std::vector<TraceList::Command> before;  // oldest first; the state that the segment begins in is replayed from them
    std::vector<TraceList::Command> commands;  // of the segment
};

struct Delegation {
    // Of each distinct path, in the order of first launches; empty: they are read here.
    std::vector<std::optional<Content>> contents;
    // Answers with what `simulate_segment` gives; an empty text where there is nothing. Null: segments are simulated
    // here. Called from several threads.
    std::function<std::string(const SegmentTask&)> simulate;
};

// Simulates a segment: the outcomes of its launches, packed for a process of the same build.
std::string simulate_segment(const GpuConfig& config, const SegmentTask& task, uint64_t memory_bytes,
                             const std::function<bool()>& goes_on);

// Adds outcomes that were packed; `sources` are those of the segment's commands. False if the text is not whole.
bool add_outcomes(const std::string& packed, const std::vector<uint32_t>& sources, Outcomes& outcomes);

}  // namespace kernelpoint::fast_model
