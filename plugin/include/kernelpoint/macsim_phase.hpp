// The schedulers' turn within a period of MacSim's GPU cores when a launch begins.
#pragma once

#include "draws.hpp"

namespace kernelpoint {

// Cycles since the last turn, of the four that shipped parameters have (gpu_schedule_ratio).
// Model: fetching stops at its own turn, so the next launch finds that phase at 0. The schedulers go on until the
// core's last warp retires, a time after its issue that depends on its last instruction. Drawn as three full runs have
// it on average: 1 in 9 of 16 cases, 2 in 5, 0 in 2 (3 in 10 of 13,172).
inline unsigned schedule_phase(Draws& draws) {
    const unsigned drawn = draws.below(16);
    return drawn < 9 ? 1 : drawn < 14 ? 2 : 0;
}

}  // namespace kernelpoint
