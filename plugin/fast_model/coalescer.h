// From the addresses of a warp's lanes to what the memory system sees of them.
#pragma once

#include <cstdint>
#include <vector>

namespace kernelpoint::fast_model {

// Sectors of one 128-byte line that one warp instruction accesses.
struct LineAccess {
    uint64_t line : 60;    // address / 128
    uint64_t sectors : 4;  // bit per 32-byte sector
};

// Computes the distinct lines of `count` accesses of `width` bytes each, in order of first access.
void coalesce(const uint64_t* addresses, uint32_t count, uint32_t width, std::vector<LineAccess>& lines);

// Passes that an access to shared memory takes over its 32 four-byte banks (bank conflicts).
struct BankPasses {
    uint32_t passes = 0;     // in all
    uint32_t conflicts = 0;  // of those, beyond what as wide an access without conflicts takes
};

// Counts the passes; lanes that read the same word share it. Model: accesses wider than four bytes go in groups of
// lanes that together move 128 bytes, one pass each without conflicts.
BankPasses count_bank_passes(const uint64_t* addresses, uint32_t count, uint32_t width);

}  // namespace kernelpoint::fast_model
