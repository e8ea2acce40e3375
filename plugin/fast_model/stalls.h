// Cycles in which warp schedulers issue nothing, by what they wait for.
#pragma once

#include <array>
#include <cstdint>

namespace kernelpoint::fast_model {

// Cause for which a warp does not issue.
enum class Wait : uint8_t {
    start,       // of its CTA: until then it is not there
    memory,      // data of an access to memory, shared memory too, or a fence
    dependence,  // the result of another instruction, or a branch
    barrier,     // other warps of its CTA
    unit,        // it could issue, but the unit that it needs takes no instruction
};
constexpr size_t kWaits = 5;

// Sums over the schedulers of a GPU. Model: a cycle counts for what the warp that issues next waited for, as long as it
// did, and then for its unit; cycles after a scheduler's last warp ended, and those before a start, are no stalls.
using WaitCycles = std::array<uint64_t, kWaits>;

struct StallField {
    const char* name;
    Wait wait;
};

constexpr std::array<StallField, 4> kStallFields{{
    {"memory_stalls", Wait::memory},
    {"dependence_stalls", Wait::dependence},
    {"barrier_stalls", Wait::barrier},
    {"unit_stalls", Wait::unit},
}};

}  // namespace kernelpoint::fast_model
