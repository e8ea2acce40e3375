// A launch as the SMs run it: what its instructions do is worked out once for each static instruction, and which lines
// an access touches once when its CTA is read, while its addresses are at hand.
#pragma once

#include <array>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "fast_model/coalescer.h"
#include "fast_model/opcode_timing.h"
#include "native/trace/trace.h"

namespace kernelpoint::fast_model {

// A static instruction. Registers are slots of a Scoreboard.
struct Operation {
    Action action = Action::compute;
    uint8_t unit = 0;
    bool exits = false;
    bool has_result = false;  // it names a destination, if only a constant register
    uint8_t needed = 0, written = 0;
    uint32_t latency = 0, interval = 0;
    uint16_t needs[8] = {};   // read, or overwritten
    uint16_t writes[8] = {};  // two destinations of up to four registers
};

// What an access of a step goes to.
enum class Reach : uint8_t { nothing, lines, local_lines, shared_memory };

// A dynamic instruction of a warp.
struct Step {
    uint32_t operation;
    uint32_t first;  // of `count` lines in DecodedCta::lines; of shared memory: passes through the banks
    uint16_t count;  // of shared memory: how many passes are conflicts
    uint8_t lanes;
    Reach reach;
};

struct DecodedCta {
    struct Warp {
        uint32_t first_step = 0, steps = 0;
    };
    Dim3 index;
    std::vector<Warp> warps;
    std::vector<Step> steps;
    std::vector<LineAccess> lines;  // local ones relative to where the warp's local memory begins
};

class Program {
public:
    explicit Program(const GpuConfig& config) : timings_(config) {}

    void start(const LaunchHeader& header);
    void decode(const Cta& cta, const std::vector<Opcode>& opcodes, DecodedCta& decoded);
    const Operation& operator[](uint32_t operation) const { return operations_[operation]; }

private:
    // What makes instructions the same operation: all of Instruction from its opcode to its sources.
    using Key = std::array<unsigned char, 24>;
    struct KeyHash {
        size_t operator()(const Key& key) const;
    };
    struct Remembered {
        Key key{};
        uint32_t operation = UINT32_MAX;
    };

    uint32_t operation_of(const Instruction& instruction);
    Operation make(const Instruction& instruction) const;
    void reach(const Instruction& instruction, const uint64_t* addresses, Step& step, DecodedCta& decoded);
    const uint64_t* interleave(const Instruction& instruction, const uint64_t* addresses);
    bool is_shared(uint64_t generic_address) const;

    OpcodeTimings timings_;
    uint64_t shared_base_ = 0;  // generic addresses from here on are shared memory; 0 for none
    std::vector<Operation> operations_;
    std::unordered_map<Key, uint32_t, KeyHash> index_;
    std::array<Remembered, 1024> by_pc_;
    std::vector<LineAccess> touched_;
    uint64_t local_addresses_[kWarpSize];
};

}  // namespace kernelpoint::fast_model
