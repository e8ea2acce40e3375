// Cycles at which each register of a warp may be read or written again.
#pragma once

#include <algorithm>
#include <array>

#include "fast_model/counters.h"
#include "fast_model/program.h"

namespace kernelpoint::fast_model {

// Times only grow and a CTA keeps its slots until its last result is there, so the next warp in a slot starts with
// nothing pending: no reset is needed.
class Scoreboard {
public:
    static constexpr uint16_t kConstant = 336;
    // Files R, UR, P, UP one after the other. RZ, URZ, PT and UPT are constants: nobody waits for them.
    static constexpr uint16_t slot(Register reg, uint32_t offset = 0) {
        constexpr uint32_t constants[4] = {255, 63, 7, 7}, begins[4] = {0, 256, 320, 328};
        const uint32_t file = (reg >> 8) & 3, number = (reg & 255) + offset;
        return static_cast<uint16_t>(number >= constants[file] ? kConstant : begins[file] + number);
    }

    // Cycle at which all operands are free of earlier writes (read after write, write after write).
    Cycles operands_ready(const Operation& operation) const {
        Cycles ready = 0;
        for (uint32_t i = 0; i < operation.needed; ++i) ready = std::max(ready, at_[operation.needs[i]]);
        return ready;
    }
    void write(const Operation& operation, Cycles result_at) {
        for (uint32_t i = 0; i < operation.written; ++i) at_[operation.writes[i]] = result_at;
    }

    // Asks the machine for the registers that nearly all code uses.
    void prefetch() const {
        for (uint32_t i = 0; i < 32; i += 8) __builtin_prefetch(&at_[i]);
    }

private:
    std::array<Cycles, kConstant> at_{};
};

}  // namespace kernelpoint::fast_model
