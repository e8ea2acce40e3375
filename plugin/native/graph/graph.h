// From a launch's trace to its graph (schema: graph_schema.h).
//
// Model: the graph is the union of the graphs of the launch's *distinct* warps. Warps whose address-free streams are
// equal (pc, lanes, opcode, registers, width and access pattern of every instruction) have equal graphs, so they are
// one graph with a weight; the mean over warps is the same. Where the distinct warps have more than `max_nodes` nodes
// together, the most frequent ones are kept; among equally frequent ones those whose first position in the launch comes
// first in the golden-ratio sequence, which spreads them evenly over the grid. The choice does not depend on the order
// of CTAs in the file. If not even one warp fits, its first instructions are taken.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "native/graph/schema.h"

namespace kernelpoint::graph {

constexpr uint64_t kSmallestMaxNodes = 16;  // one instruction with all its operands fits

struct TraceGraph {
    std::vector<uint8_t> kinds;         // [nodes] NodeKind
    std::vector<int32_t> tokens;        // [nodes, 2] token, modifiers
    std::vector<float> features;        // [nodes, kFeatureCount]
    std::vector<int64_t> edges;         // [2, edges] sources, then targets
    std::vector<int64_t> relations;     // [edges] Relation
    std::vector<int64_t> warp_starts;   // [warps + 1] first node of each warp; the last is the number of nodes
    std::vector<int64_t> warp_weights;  // [warps] how many warps of the launch are equal to this one
    uint64_t total_warps = 0;           // of the launch, without empty ones
    uint64_t left_out_warps = 0;        // of those, not represented because of max_nodes
    bool truncated = false;             // the only warp taken was cut

    uint64_t node_count() const { return kinds.size(); }
    uint64_t edge_count() const { return relations.size(); }
};

// Builds the graph of a trace. Throws TraceError for a bad trace, std::invalid_argument for max_nodes <
// kSmallestMaxNodes.
TraceGraph build_graph(const std::string& path, uint64_t max_nodes);

}  // namespace kernelpoint::graph
