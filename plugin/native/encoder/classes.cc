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

uint64_t bits(const float* values, uint64_t count) {
    uint32_t halves[2] = {0, 0};
    std::memcpy(halves, values, count * sizeof(float));
    return uint64_t{halves[0]} << 32 | halves[1];
}

}  // namespace

Incoming::Incoming(const GraphView& graph, uint32_t relations)
    : relations_(relations), starts_(graph.nodes * relations + 2), sources_(graph.edges) {
    const int64_t* targets = graph.edge_index + graph.edges;
    // Counts stand two places later: after the sums one place later, where writing moves them to their own.
    const auto group_of = [&](uint64_t edge) { return targets[edge] * relations + graph.relations[edge]; };
    for (uint64_t edge = 0; edge < graph.edges; edge++) starts_[group_of(edge) + 2]++;
    for (size_t i = 2; i < starts_.size(); i++) starts_[i] += starts_[i - 1];
    for (uint64_t edge = 0; edge < graph.edges; edge++)
        sources_[starts_[group_of(edge) + 1]++] = static_cast<uint32_t>(graph.edge_index[edge]);
}

Classes input_classes(const GraphView& graph) {
    return group(graph.nodes, [&](uint64_t node) {
        StreamHasher hasher;
        const int32_t* tokens = graph.tokens + 2 * node;
        hasher.add(static_cast<uint32_t>(tokens[0]), static_cast<uint32_t>(tokens[1]));
        const float* features = graph.features + graph.feature_count * node;
        for (uint64_t i = 0; i < graph.feature_count; i += 4) {
            const uint64_t left = graph.feature_count - i;
            hasher.add(bits(features + i, left < 2 ? left : 2),
                       left > 2 ? bits(features + i + 2, left < 4 ? 1 : 2) : 0);
        }
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
