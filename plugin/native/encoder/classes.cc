#include "native/encoder/classes.h"

#include <cstring>
#include <unordered_map>

#include "native/trace/stream_hash.h"

namespace kernelpoint::encoder {

namespace {

struct LowHalf {
    size_t operator()(const StreamHash& hash) const { return hash.low; }
};

// Classes of nodes 0 to `nodes` - 1 by what `hash(node)` gives.
template <typename Hash>
Classes group(uint64_t nodes, const Hash& hash) {
    Classes result;
    result.of_node.reserve(nodes);
    std::unordered_map<StreamHash, uint32_t, LowHalf> known;
    known.reserve(nodes);
    for (uint64_t node = 0; node < nodes; node++) {
        const auto [found, is_new] = known.emplace(hash(node), static_cast<uint32_t>(result.first_node.size()));
        if (is_new) result.first_node.push_back(static_cast<uint32_t>(node));
        result.of_node.push_back(found->second);
    }
    return result;
}

uint64_t bits(const float* values) {
    uint32_t halves[2];
    std::memcpy(halves, values, sizeof halves);
    return uint64_t{halves[0]} << 32 | halves[1];
}

}  // namespace

Incoming::Incoming(const TraceGraph& graph, uint32_t relations)
    : relations_(relations), starts_(graph.node_count() * relations + 2), sources_(graph.edge_count()) {
    const int64_t* targets = graph.edges.data() + graph.edge_count();
    // Counts stand two places later: after the sums one place later, where writing moves them to their own.
    const auto group_of = [&](uint64_t edge) { return targets[edge] * relations + graph.relations[edge]; };
    for (uint64_t edge = 0; edge < graph.edge_count(); edge++) starts_[group_of(edge) + 2]++;
    for (size_t i = 2; i < starts_.size(); i++) starts_[i] += starts_[i - 1];
    for (uint64_t edge = 0; edge < graph.edge_count(); edge++)
        sources_[starts_[group_of(edge) + 1]++] = static_cast<uint32_t>(graph.edges[edge]);
}

Classes input_classes(const TraceGraph& graph) {
    return group(graph.node_count(), [&](uint64_t node) {
        StreamHasher hasher;
        const int32_t* tokens = graph.tokens.data() + 2 * node;
        hasher.add(static_cast<uint32_t>(tokens[0]), static_cast<uint32_t>(tokens[1]));
        const float* features = graph.features.data() + graph::kFeatureCount * node;
        static_assert(graph::kFeatureCount % 4 == 0, "features are hashed four at a time");
        for (int i = 0; i < graph::kFeatureCount; i += 4) hasher.add(bits(features + i), bits(features + i + 2));
        return hasher.finish();
    });
}

Classes refined(const Classes& before, const Incoming& incoming) {
    return group(before.of_node.size(), [&](uint64_t node) {
        StreamHasher hasher;
        hasher.add(before.of_node[node], 0);
        for (uint32_t relation = 0; relation < incoming.relations(); relation++)
            for (auto source = incoming.begin(node, relation); source != incoming.end(node, relation); ++source)
                hasher.add(before.of_node[*source], relation + 1);
        return hasher.finish();
    });
}

}  // namespace kernelpoint::encoder
