// The launches of a list on one simulated GPU, one after the other; what is done before each belongs to it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fast_model/gpu.h"
#include "native/trace/trace_list.h"

namespace kernelpoint::fast_model {

// Called now and then while a list runs, with the number of launches that are done; false ends the run.
using GoesOn = std::function<bool(uint64_t)>;

struct ListResult {
    // Launch by launch; all zero for one that could not be simulated.
    std::vector<uint64_t> cycles, instructions;
    std::vector<Counters> counters;
    std::vector<std::pair<uint64_t, std::string>> failures;  // launch index and reason
    bool ended_early = false;
};

// Simulates every launch in program order, with the caches that the launches before it left. A launch that cannot be
// simulated is a failure, and the run goes on; one whose path is empty has no trace and is left out.
ListResult run_list(const GpuConfig& config, const TraceList& list, const GoesOn& goes_on);

}  // namespace kernelpoint::fast_model
