// Nodes that a layer cannot tell apart: computed once.
//
// A node's output at a layer depends on its own input, and on the inputs that arrive over each relation. Nodes with the
// same token and features are of one class at the input; nodes of one class whose incoming edges are equal in relation
// and in the class of the source are of one class after a layer (colour refinement; Weisfeiler and Leman, 1968). Warps
// of a launch run much the same instructions, so the classes are a half to a tenth of the nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "native/graph/graph.h"

namespace kernelpoint::encoder {

using graph::TraceGraph;

// Sources of the incoming edges of every node, by relation, in the order of the edges.
class Incoming {
public:
    Incoming(const TraceGraph& graph, uint32_t relations);

    uint32_t relations() const { return relations_; }
    const uint32_t* begin(uint64_t node, uint32_t relation) const { return at(node, relation); }
    const uint32_t* end(uint64_t node, uint32_t relation) const { return at(node, relation + 1); }

private:
    const uint32_t* at(uint64_t node, uint32_t relation) const {
        return sources_.data() + starts_[node * relations_ + relation];
    }
    uint32_t relations_;
    std::vector<uint64_t> starts_;
    std::vector<uint32_t> sources_;
};

// Classes of nodes with equal surroundings. Numerics: 128-bit hashes tell them apart; two of a million collide with a
// probability of about 1e-27.
struct Classes {
    std::vector<uint32_t> of_node;
    std::vector<uint32_t> first_node;  // of each class

    uint64_t count() const { return first_node.size(); }
};

Classes input_classes(const TraceGraph& graph);
Classes refined(const Classes& before, const Incoming& incoming);

}  // namespace kernelpoint::encoder
