// The launches of a MacSim, on all its cores.
#pragma once

#include <vector>

#include "simulators/macsim/cores/core_state.h"
#include "simulators/macsim/cores/warp_code.h"

namespace kernelpoint::replay::macsim {

// Range of warps in LaunchCode::warps that form a CTA.
struct CtaWarps {
    uint32_t first = 0, count = 0;
};

// Accesses of one core, or of all cores, in a launch. A request that meets another one of its core for the same line
// is merged.
struct Accesses {
    uint64_t fetch_misses = 0, l1 = 0, l1_misses = 0, merged = 0, constant = 0;

    void add(const Accesses& other) {
        fetch_misses += other.fetch_misses;
        l1 += other.l1;
        l1_misses += other.l1_misses;
        merged += other.merged;
        constant += other.constant;
    }
};

struct CtasRun {
    std::vector<bool> learned;  // by SM: a counter or the history of its predictor has changed
    uint64_t cycles = 0, mispredictions = 0;
    Accesses accesses;
};

// Cycle and core at which the launch before ended.
struct Clock {
    uint64_t cycle = 0;
    uint32_t core = 0;
};

// Runs the CTAs of a launch, `at_once` of them at the same time on an SM.
CtasRun run_ctas(const LaunchCode& code, const std::vector<CtaWarps>& ctas, uint64_t at_once, const CacheInfo& caches,
                 std::vector<SmState>& sms, LineSet& last_level, Clock& clock);

}  // namespace kernelpoint::replay::macsim
