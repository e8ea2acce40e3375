// A CTA that is resident on an SM, and its warps.
#pragma once

#include <algorithm>
#include <array>

#include "fast_model/config.h"
#include "fast_model/counters.h"
#include "native/trace/trace.h"

namespace kernelpoint::fast_model {

struct Warp;

struct ResidentCta {
    Cta trace;
    std::vector<Warp*> warps;  // slots of the SM that are its own until it retires
    uint32_t running = 0;      // warps that have not ended
    uint32_t waiting = 0;      // of those, warps at the barrier
    uint32_t never_exit = 0;   // warps whose instructions ended without an EXIT
    Cycles done_at = 0;        // when the last result of its ended warps is there
};

// When each register may be read or written again. Times only grow and a CTA keeps its slots until its last result is
// there, so the next warp in a slot starts with nothing pending: no reset is needed.
class Scoreboard {
public:
    // When all operands of `instruction` are free of earlier writes (read after write, write after write).
    Cycles operands_ready(const Instruction& instruction) const {
        Cycles ready = 0;
        for (uint32_t i = 0; i < instruction.source_count; ++i) {
            ready = std::max(ready, at_[slot(instruction.sources[i])]);
        }
        for (uint32_t i = 0; i < instruction.destination_count; ++i) {
            ready = std::max(ready, at_[slot(instruction.destinations[i])]);
        }
        return ready;
    }

    // Model: a trace names the first register of a wide load; the others follow it.
    void write(const Instruction& instruction, Cycles result_at) {
        const uint32_t registers = instruction.width > 4 ? std::min<uint32_t>(instruction.width / 4, 4) : 1;
        for (uint32_t i = 0; i < instruction.destination_count; ++i) {
            for (uint32_t r = 0; r < registers; ++r) at_[slot(instruction.destinations[i], r)] = result_at;
        }
        at_[kAlwaysReady] = 0;
    }

private:
    static constexpr uint32_t kAlwaysReady = 336;
    // Files R, UR, P, UP one after the other. RZ, URZ, PT and UPT are constants: nobody waits for them.
    static uint32_t slot(Register reg, uint32_t offset = 0) {
        constexpr uint32_t constants[4] = {255, 63, 7, 7}, begins[4] = {0, 256, 320, 328};
        const uint32_t file = (reg >> 8) & 3, number = (reg & 255) + offset;
        return number >= constants[file] ? kAlwaysReady : begins[file] + number;
    }
    std::array<Cycles, kAlwaysReady + 1> at_{};
};

struct Warp {
    const Instruction *next = nullptr, *end = nullptr;
    ResidentCta* cta = nullptr;
    uint32_t slot = 0;  // over all SMs
    uint32_t scheduler = 0;
    Cycles results_at = 0;  // when the last of its results or stores is done
    Cycles fence_at = 0;    // the same for memory accesses alone
    Scoreboard scoreboard;
};

}  // namespace kernelpoint::fast_model
