// A launch as the SMs run it: what its instructions do is worked out once for each static instruction, and which lines
// an access touches once when its CTA is read, while its addresses are at hand.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fast_model/coalescer.h"
#include "fast_model/opcode_timing.h"
#include "native/trace/trace.h"

namespace kernelpoint::fast_model {

// A static instruction. Its registers are slots of a Scoreboard.
struct Operation {
    Action action = Action::compute;
    uint8_t unit = 0;
    bool exits = false;
    bool has_result = false;  // it names a destination, if only a constant register
    uint8_t needed = 0, written = 0;
    uint32_t latency = 0, interval = 0;
    uint16_t needs[8] = {};   // read, or overwritten
    uint16_t writes[8] = {};  // two destinations of up to four registers

    bool accesses_memory() const { return action >= Action::load_global; }
};

// Kind of access of a memory instruction: nothing, lines, lines of local memory, or shared memory.
enum class Reach : uint8_t { nothing, lines, local_lines, shared_memory };

// A dynamic instruction of a warp without its addresses. Warps that execute the same instructions share the steps.
struct Step {
    uint32_t operation;
    uint16_t count;  // how many accesses it takes of DecodedCta::accesses
    uint8_t lanes;
    Reach reach;
};
using Steps = std::vector<Step>;

// Access to shared memory in the form of a LineAccess: the passes over its banks.
inline LineAccess bank_access(const BankPasses& banks) {
    return {(uint64_t{banks.conflicts} << 24) | banks.passes, 0};
}
inline BankPasses bank_passes(const LineAccess& access) {
    return {static_cast<uint32_t>(access.line & 0xffffff), static_cast<uint32_t>(access.line >> 24)};
}

struct DecodedCta {
    struct Warp {
        std::shared_ptr<const Steps> steps;
        size_t first_access = 0;
    };
    Dim3 index;
    std::vector<Warp> warps;
    std::vector<LineAccess> accesses;  // in order of the steps; local ones relative to where local memory begins
};

class Program {
public:
    explicit Program(const GpuConfig& config) : timings_(config) {}

    void start(const LaunchHeader& header);
    void decode(const Cta& cta, const std::vector<Opcode>& opcodes, DecodedCta& decoded);
    const Operation& operator[](uint32_t operation) const { return operations_[operation]; }

private:
    // Key of an operation: all of Instruction from its opcode to its sources.
    using Key = std::array<unsigned char, 24>;
    struct KeyHash {
        size_t operator()(const Key& key) const;
    };
    struct Remembered {
        Key key{};
        uint32_t operation = UINT32_MAX;
    };

    Step step_of(const Instruction& instruction, const Cta& cta, DecodedCta& decoded);
    std::shared_ptr<const Steps> shared();
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
    Steps steps_;  // of the warp being read
    // Steps that warps had lately, by a hash of them.
    std::array<std::shared_ptr<const Steps>, 256> lately_;
    uint64_t local_addresses_[kWarpSize];
};

}  // namespace kernelpoint::fast_model
