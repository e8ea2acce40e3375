// The warps of a launch that go into its graph: the distinct ones, most frequent first (the rule stands in graph.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "native/graph/schema.h"
#include "native/graph/values.h"

namespace kernelpoint::graph {

// Pattern of one memory instruction's addresses, apart from where they lie.
struct AccessPattern {
    uint16_t sectors = 0;   // distinct 32-byte sectors touched by [address, address + width) of all lanes
    bool regular = false;   // one stride between all neighbouring active lanes (true for a single lane, stride 0)
    int64_t stride = 0;     // bytes; 0 where irregular
    bool repeated = false;  // the warp accessed memory at this pc before
    int64_t step = 0;       // bytes from the first lane's address then to that now
};

// At least one address; knows nothing of earlier accesses.
AccessPattern access_pattern(const uint64_t* addresses, uint32_t count, uint32_t width);

// An executed instruction without its addresses.
struct Step {
    Instruction instruction;
    AccessPattern access;
};

// Model: equal warps may hold other operand values; those of the one whose position in the launch comes first in the
// golden-ratio sequence stand for all.
struct WarpStream {
    std::vector<Step> steps;
    WarpValues values;
    uint64_t nodes = 0;
    uint64_t weight = 0;
};

struct ChosenWarps {
    std::vector<WarpStream> warps;
    std::vector<Opcode> opcodes;  // Instruction::opcode is an index into these
    uint32_t largest_pc = 0;      // of the whole launch
    uint64_t total_warps = 0, left_out_warps = 0;
    bool truncated = false;
};

// Number of nodes the steps make.
uint64_t count_nodes(const std::vector<Step>& steps);

ChosenWarps choose_warps(const std::string& path, uint64_t max_nodes);

}  // namespace kernelpoint::graph
