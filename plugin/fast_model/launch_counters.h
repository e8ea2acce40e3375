// Counters of a launch. Some count the cycles in which warp schedulers issue nothing, by the cause of the wait. Every
// counter adds up over launches; the plugin extrapolates each.
#pragma once

#include <array>
#include <cstdint>

namespace kernelpoint::fast_model {

using Cycles = uint64_t;
constexpr Cycles kNever = UINT64_MAX;

struct Counters {
    uint64_t warp_instructions = 0;
    uint64_t ctas = 0;
    uint64_t l1_accesses = 0;    // sectors looked up by loads of global and local memory
    uint64_t l1_misses = 0;      // sectors of those that were not there
    uint64_t l1_merged = 0;      // sectors of those that were there as something on its way
    uint64_t l1_writes = 0;      // sectors of stores to global and local memory
    uint64_t l1_write_hits = 0;  // sectors of those that were there
    uint64_t l2_accesses = 0;    // sectors read, written or updated
    uint64_t l2_misses = 0;      // sectors of those that had to be read from DRAM
    uint64_t l2_merged = 0;      // sectors read that were there as something on its way
    uint64_t l2_writes = 0;      // sectors written
    uint64_t l2_write_hits = 0;  // sectors of those that were there
    uint64_t dram_reads = 0;     // sectors
    uint64_t dram_writes = 0;    // sectors, on eviction from L2
    uint64_t shared_accesses = 0;
    uint64_t shared_bank_conflicts = 0;  // extra passes through the banks
};

struct CounterField {
    const char* name;
    uint64_t Counters::* value;
};

// The counters' names in the order in which they are reported.
constexpr std::array<CounterField, 16> kCounterFields{{
    {"warp_instructions", &Counters::warp_instructions},
    {"ctas", &Counters::ctas},
    {"l1_accesses", &Counters::l1_accesses},
    {"l1_misses", &Counters::l1_misses},
    {"l1_global_reads_merged", &Counters::l1_merged},
    {"l1_global_writes", &Counters::l1_writes},
    {"l1_global_write_hits", &Counters::l1_write_hits},
    {"l2_accesses", &Counters::l2_accesses},
    {"l2_misses", &Counters::l2_misses},
    {"l2_global_reads_merged", &Counters::l2_merged},
    {"l2_global_writes", &Counters::l2_writes},
    {"l2_global_write_hits", &Counters::l2_write_hits},
    {"dram_reads", &Counters::dram_reads},
    {"dram_writes", &Counters::dram_writes},
    {"shared_accesses", &Counters::shared_accesses},
    {"shared_bank_conflicts", &Counters::shared_bank_conflicts},
}};

// Reason why a warp cannot issue an instruction.
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
