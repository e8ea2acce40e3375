// The records of a CTA's warps.
#pragma once

#include <vector>

#include "native/trace/trace.h"
#include "simulators/macsim/trace/opcodes.h"

namespace kernelpoint::macsim {

// Turns warps into records, one CTA at a time.
//
// Model, following what MacSim's tracer writes:
//  - instructions without an active lane are left out; a warp that has no others is one EXIT, as is an empty CTA;
//  - the address register of a memory access, its first source, is left out; of the other registers the first four
//    sources and destinations stay. All files of registers share their numbers;
//  - loads and stores have one record for each 128-byte sector touched, in ascending order, all but the first marked as
//    children; atomics and the rest are no memory accesses to MacSim and have neither address nor children;
//  - the access size is the lane's, times the sectors on the first record of several, 255 at most;
//  - the target of a branch is where the warp went next (the tracer knows the static target, traces do not); the mask
//    of lanes that took it is 0.
class Recorder {
public:
    Recorder(const LaunchHeader& header, uint64_t code_base) : header_(header), code_base_(code_base) {}

    // The records of one warp; they stay until the next call.
    const std::vector<Record>& warp(const Cta& cta, const Warp& warp, const std::vector<Opcode>& opcodes);
    const std::vector<Record>& nothing();  // of a warp that executes nothing: one EXIT
    // Of a warp in the launch.
    uint32_t id(const Cta& cta, const Warp& warp) const {
        return static_cast<uint32_t>(cta_number(cta.index)) * warps_per_cta_id + warp.id;
    }

    struct OpcodeFacts {
        Record record;  // opcode, flags, space
        bool exact = true, is_access = false;
        uint64_t count = 0;  // of instructions
        std::string base;
    };
    const std::vector<OpcodeFacts>& facts() const { return facts_; }
    uint64_t without_lanes() const { return without_lanes_; }

private:
    uint64_t cta_number(const Dim3& index) const {
        return index.x + uint64_t{header_.grid.x} * (index.y + uint64_t{header_.grid.y} * index.z);
    }
    void learn(const std::vector<Opcode>& opcodes);
    void add(const Instruction& instruction, const uint64_t* addresses);

    const LaunchHeader& header_;
    const uint64_t code_base_;
    std::vector<OpcodeFacts> facts_;
    std::vector<Record> records_;
    uint64_t without_lanes_ = 0;
};

}  // namespace kernelpoint::macsim
