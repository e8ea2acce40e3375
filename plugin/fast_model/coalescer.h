// From the addresses of a warp's lanes to what the memory system sees of them.
#pragma once

#include <cstdint>
#include <vector>

namespace kernelpoint::fast_model {

// The sectors that one warp instruction touches of one 128-byte line.
struct LineAccess {
    uint64_t line : 60;    // address / 128
    uint64_t sectors : 4;  // bit per 32-byte sector
};

// The distinct lines of `count` accesses of `width` bytes each, in order of first touch.
void coalesce(const uint64_t* addresses, uint32_t count, uint32_t width, std::vector<LineAccess>& lines);

// Bank conflicts: how an access meets the 32 four-byte banks of shared memory.
struct BankPasses {
    uint32_t passes = 0;     // in all
    uint32_t conflicts = 0;  // of those, beyond what as wide an access without conflicts takes
};

// Lanes that read the same word share it. Model: accesses wider than four bytes go in groups of lanes that together
// move 128 bytes, one pass each without conflicts.
BankPasses count_bank_passes(const uint64_t* addresses, uint32_t count, uint32_t width);

}  // namespace kernelpoint::fast_model
