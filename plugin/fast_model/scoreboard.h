// Cycles at which each register of a warp may be read or written again.
#pragma once

#include <algorithm>
#include <array>

#include "fast_model/counters.h"
#include "fast_model/program.h"

namespace kernelpoint::fast_model {

// Cycles at which registers are ready. No reset is needed between warps: times only grow, and a CTA keeps its slots
// until its last result has arrived.
class Scoreboard {
public:
    static constexpr uint16_t kConstant = 336;
    // Slot of a register: the files R, UR, P and UP follow each other. RZ, URZ, PT and UPT are constants and have
    // none.
    static constexpr uint16_t slot(Register reg, uint32_t offset = 0) {
        constexpr uint32_t constants[4] = {255, 63, 7, 7}, begins[4] = {0, 256, 320, 328};
        const uint32_t file = (reg >> 8) & 3, number = (reg & 255) + offset;
        return static_cast<uint16_t>(number >= constants[file] ? kConstant : begins[file] + number);
    }

    struct Ready {
        Cycles at;
        Wait waits_for;  // until then
    };

    // Cycle at which no earlier write to the operands is pending (read after write, write after write).
    Ready operands_ready(const Operation& operation) const {
        uint64_t last = 0;
        for (uint32_t i = 0; i < operation.needed; ++i) last = std::max(last, at_[operation.needs[i]]);
        return {last / 2, last % 2 != 0 ? Wait::memory : Wait::dependence};
    }
    void write(const Operation& operation, Cycles result_at) {
        const uint64_t at = 2 * result_at + (operation.accesses_memory() ? 1 : 0);
        for (uint32_t i = 0; i < operation.written; ++i) at_[operation.writes[i]] = at;
    }

    // Asks the processor to load the registers that nearly all code uses.
    void prefetch() const {
        for (uint32_t i = 0; i < 32; i += 8) __builtin_prefetch(&at_[i]);
    }

private:
    std::array<uint64_t, kConstant> at_{};  // twice the cycle, and 1 more where memory gives the result
};

}  // namespace kernelpoint::fast_model
