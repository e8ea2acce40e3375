// The launches of a list on one simulated GPU, one after the other; what is done before each belongs to it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fast_model/config.h"
#include "fast_model/counters.h"
#include "native/trace/content.h"
#include "native/trace/trace_list.h"

namespace kernelpoint::fast_model {

// Called now and then while a list runs, with the number of finished launches and their approximate share of the work.
// An exception from it ends the run.
using Report = std::function<void(uint64_t, double)>;

// Memory and contents for running a list; the result does not depend on them.
struct Effort {
    uint64_t memory_bytes = 512 << 20;  // for outcomes of launches that may come again
    std::vector<Content> contents;      // of each launch; empty: equal paths are taken for equal contents
};

struct ListResult {
    struct Numbers {
        uint64_t cycles = 0, instructions = 0;
        Counters counters;
    };
    std::vector<uint32_t> of_launch;  // which of `numbers`; kNoNumbers where it was not simulated
    std::vector<Numbers> numbers;
    std::vector<std::pair<uint64_t, std::string>> failures;  // launch index and reason
    uint64_t simulated = 0;                                  // launches that were not known from another
};
constexpr uint32_t kNoNumbers = UINT32_MAX;

// Simulates every launch in program order, with the caches that the launches before it left. A launch that cannot be
// simulated is a failure, and the run goes on; one whose path is empty has no trace and is left out.
// Launches of the same trace that find the same in L2 are simulated once, on a GPU that invalidates L1 at each launch.
ListResult run_list(const GpuConfig& config, const TraceList& list, const Effort& effort, const Report& report);

}  // namespace kernelpoint::fast_model
