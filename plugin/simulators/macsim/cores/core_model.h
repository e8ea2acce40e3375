// The launches of a MacSim, on all its cores.
#pragma once

#include <array>
#include <vector>

#include "simulators/macsim/cores/core_state.h"
#include "simulators/macsim/cores/warp_code.h"

namespace kernelpoint::replay::macsim {

// Counts of a launch. A request for a line that its core already waits for is merged with the earlier one.
enum Count { kCycles, kMispredictions, kFetchMisses, kL1, kL1Misses, kMerged, kConstant, kLastLevelMisses, kCounts };
using Counts = std::array<uint64_t, kCounts>;

struct CtasRun {
    std::vector<bool> learned;  // by SM: a counter or the history of its predictor has changed
    Counts counts{};
};

// Cycle and core at which the launch before ended.
struct Clock {
    uint64_t cycle = 0;
    uint32_t core = 0;
};

// Runs the CTAs of a launch, `at_once` of them at the same time on an SM.
CtasRun run_ctas(const LaunchCode& code, uint64_t at_once, const CacheInfo& caches, std::vector<SmState>& sms,
                 LineSet& last_level, Clock& clock);

}  // namespace kernelpoint::replay::macsim
