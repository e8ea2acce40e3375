// A CTA that is resident on an SM, and its warps.
#pragma once

#include "fast_model/program.h"
#include "fast_model/scoreboard.h"

namespace kernelpoint::fast_model {

struct Warp;

struct ResidentCta {
    DecodedCta decoded;
    std::vector<Warp*> warps;  // slots of the SM that are its own until it retires
    uint32_t running = 0;      // warps that have not ended
    uint32_t waiting = 0;      // of those, warps at the barrier
    uint32_t never_exit = 0;   // warps whose instructions ended without an EXIT
    Cycles done_at = 0;        // when the last result of its ended warps is there
};

struct alignas(64) Warp {
    const Step* end = nullptr;
    const LineAccess* accesses = nullptr;  // of the steps that are left
    ResidentCta* cta = nullptr;
    uint64_t local_line = 0;  // where its local memory begins
    Cycles results_at = 0;    // when the last of its results or stores is done
    Cycles fence_at = 0;      // the same for memory accesses alone
    Scoreboard scoreboard;
};

}  // namespace kernelpoint::fast_model
