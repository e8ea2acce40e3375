// The launches of a MacSim, on all its cores.
#pragma once

#include <vector>

#include "simulators/macsim/cores/core.h"

namespace kernelpoint::replay::macsim {

struct CtasRun {
    std::vector<bool> learned;  // by SM: a counter or the history of its predictor has changed
    uint64_t cycles = 0, mispredictions = 0;
    Accesses accesses;
};

// The cycle and the core in which the launch before ended.
struct Clock {
    uint64_t cycle = 0;
    uint32_t core = 0;
};

// Runs a launch's CTAs, `at_once` of them side by side on an SM.
CtasRun run_ctas(const LaunchCode& code, const std::vector<CtaWarps>& ctas, uint64_t at_once, std::vector<SmState>& sms,
                 LineSet& last_level, Clock& clock);

}  // namespace kernelpoint::replay::macsim
