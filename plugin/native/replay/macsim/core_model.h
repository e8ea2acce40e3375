// One of MacSim's cores, as far as the order of branches depends on it: fetched, predicted, executed, resolved.
#pragma once

#include <vector>

#include "kernelpoint/macsim_phase.hpp"
#include "native/replay/macsim/core_state.h"
#include "native/replay/macsim/warp_code.h"

namespace kernelpoint::replay::macsim {

// Model: two warps in turn fetch an instruction each every four cycles, from an instruction cache; an instruction a
// cycle passes a queue into a window of 16 that all warps share. Every four cycles, at a turn of their own (see
// schedule_phase), each of two schedulers issues the oldest ready instruction of a warp, in order within a warp, and
// the window is filled up behind them. Results come after a fixed time, those of loads after one for each level of the
// caches. A branch is predicted when it is fetched and resolved when it is issued. A warp whose branch is mispredicted
// fetches nothing until then, and its next fetches go on at the line before the branch.
struct CoreTiming {
    uint64_t period = 4;   // cycles between fetches, and between issues
    uint32_t fetches = 2;  // warps that fetch, and schedulers that issue, in each
    uint64_t front = 10;   // cycles from fetch to the queue
    uint64_t queued = 4;   // and from there to where the window is filled from
    size_t fetched = 256;  // instructions that wait for the queue
    size_t queue = 32, window = 16;
    uint32_t moved = 4;                   // instructions that fill the window at a time
    uint64_t compute = 25;                // cycles from issue to result
    uint64_t load[3] = {40, 300, 420};    // found in the L1, in the last level, in DRAM
    uint64_t fetch_miss[2] = {200, 320};  // an instruction line in the last level, in DRAM
    uint64_t end = 24;                    // cycles from issue to the warp's end, or to a barrier's
};

// A range of LaunchCode::warps.
struct CtaWarps {
    uint32_t first = 0, count = 0;
};

// Runs a launch's CTAs, `at_once` of them side by side on an SM. For each SM: has a counter or the history of its
// predictor changed?
std::vector<bool> run_ctas(const LaunchCode& code, const std::vector<CtaWarps>& ctas, uint64_t at_once,
                           std::vector<SmState>& sms, LineSet& last_level, Draws& draws);

}  // namespace kernelpoint::replay::macsim
