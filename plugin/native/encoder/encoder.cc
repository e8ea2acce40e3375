#include "native/encoder/encoder.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace kernelpoint::encoder {

namespace {

constexpr uint64_t kFeatures = graph::kFeatureCount;
constexpr uint64_t kBlock = 128;       // classes whose outputs are computed together
constexpr double kNormEpsilon = 1e-5;  // of torch's LayerNorm

const Tensor& find(const Tensors& tensors, const std::string& name, size_t dimensions) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) throw std::invalid_argument("tensor " + name + " is missing");
    uint64_t count = 1;
    for (uint64_t size : found->second.shape) count *= size;
    if (found->second.shape.size() != dimensions || count == 0 || found->second.values.size() != count)
        throw std::invalid_argument("tensor " + name + " is not an array of " + std::to_string(dimensions) +
                                    " dimension(s), none of them 0");
    return found->second;
}

void check_size(const std::string& name, uint64_t found, uint64_t wanted) {
    if (found != wanted)
        throw std::invalid_argument("tensor " + name + " has a dimension of " + std::to_string(found) +
                                    ", the tensors beside it need " + std::to_string(wanted));
}

std::vector<double> find_vector(const Tensors& tensors, const std::string& name, uint64_t size) {
    const Tensor& found = find(tensors, name, 1);
    check_size(name, found.shape[0], size);
    return found.values;
}

void normalise(double* row, const std::vector<double>& weight, const std::vector<double>& bias) {
    const size_t width = weight.size();
    double mean = 0, variance = 0;
    for (size_t i = 0; i < width; i++) mean += row[i];
    mean /= static_cast<double>(width);
    for (size_t i = 0; i < width; i++) variance += (row[i] - mean) * (row[i] - mean);
    const double scale = 1 / std::sqrt(variance / static_cast<double>(width) + kNormEpsilon);
    for (size_t i = 0; i < width; i++) row[i] = (row[i] - mean) * scale * weight[i] + bias[i];
}

// The share of each class in the mean over nodes, then warps.
std::vector<double> shares(const TraceGraph& graph, const Classes& classes) {
    std::vector<double> result(classes.count());
    double total = 0;
    for (uint64_t warp = 0; warp < graph.warp_weights.size(); warp++)
        total += static_cast<double>(graph.warp_weights[warp]);
    for (uint64_t warp = 0; warp < graph.warp_weights.size(); warp++) {
        const int64_t first = graph.warp_starts[warp], end = graph.warp_starts[warp + 1];
        const double share = static_cast<double>(graph.warp_weights[warp]) / static_cast<double>(end - first) / total;
        for (int64_t node = first; node < end; node++) result[classes.of_node[node]] += share;
    }
    return result;
}

}  // namespace

Encoder::Encoder(const Tensors& tensors)
    : tokens_(find(tensors, "tokens.weight", 2)), modifiers_(find(tensors, "modifiers.weight", 2)) {
    check_size("modifiers.weight", modifiers_.shape[1], tokens_.shape[1]);
    do {
        layers_.push_back(read_layer(tensors, std::to_string(layers_.size())));
        const size_t last = layers_.size() - 1;
        if (last > 0) {
            const std::string name = "layers." + std::to_string(last);
            check_size(name + ".root", layers_[last].root.rows(), layers_[last - 1].root.columns());
            check_size(name + ".comp", layers_[last].relations.size(), layers_[0].relations.size());
        }
    } while (tensors.count("layers." + std::to_string(layers_.size()) + ".root"));
    if (tensors.size() > 2 + 6 * layers_.size())
        throw std::invalid_argument("tensors: some belong to no layer; there are " + std::to_string(layers_.size()));
    if (input_width() <= tokens_.shape[1]) throw std::invalid_argument("tensor layers.0.root has no row for features");
}

Encoder::Layer Encoder::read_layer(const Tensors& tensors, const std::string& number) {
    const std::string name = "layers." + number;
    const Tensor &root = find(tensors, name + ".root", 2), &bases = find(tensors, name + ".weight", 3),
                 &shares = find(tensors, name + ".comp", 2);
    const uint64_t in = root.shape[0], out = root.shape[1], base_count = bases.shape[0];
    check_size(name + ".weight", bases.shape[1], in);
    check_size(name + ".weight", bases.shape[2], out);
    check_size(name + ".comp", shares.shape[1], base_count);
    Layer layer;
    layer.root = Matrix(root.values.data(), in, out);
    for (uint64_t relation = 0; relation < shares.shape[0]; relation++) {
        std::vector<double> sum(in * out);
        for (uint64_t base = 0; base < base_count; base++)
            for (uint64_t i = 0; i < in * out; i++)
                sum[i] += shares.values[relation * base_count + base] * bases.values[base * in * out + i];
        layer.relations.emplace_back(sum.data(), in, out);
    }
    layer.bias = find_vector(tensors, name + ".bias", out);
    layer.norm_weight = find_vector(tensors, "norms." + number + ".weight", out);
    layer.norm_bias = find_vector(tensors, "norms." + number + ".bias", out);
    return layer;
}

void Encoder::check(const TraceGraph& graph) const {
    const auto refuse = [](const char* what) { throw std::invalid_argument(std::string("graph: ") + what); };
    const auto outside = [](int64_t value, uint64_t size) { return static_cast<uint64_t>(value) >= size; };
    if (graph.node_count() == 0 || graph.node_count() > UINT32_MAX) refuse("it has no node, or 2^32 or more");
    if (kFeatures != input_width() - tokens_.shape[1]) refuse("its features are not those of the encoder");
    for (uint64_t node = 0; node < graph.node_count(); node++)
        if (outside(graph.tokens[2 * node], tokens_.shape[0]) ||
            outside(graph.tokens[2 * node + 1], modifiers_.shape[0]))
            refuse("a token is in no row of the encoder's tables");
    for (uint64_t edge = 0; edge < graph.edge_count(); edge++)
        if (outside(graph.edges[edge], graph.node_count()) ||
            outside(graph.edges[graph.edge_count() + edge], graph.node_count()) ||
            outside(graph.relations[edge], layers_[0].relations.size()))
            refuse("an edge has no such node, or no such relation");
    if (graph.warp_weights.size() == 0 || graph.warp_starts[0] != 0 ||
        static_cast<uint64_t>(graph.warp_starts[graph.warp_weights.size()]) != graph.node_count())
        refuse("its warps are not all of its nodes");
    for (uint64_t warp = 0; warp < graph.warp_weights.size(); warp++)
        if (graph.warp_starts[warp] >= graph.warp_starts[warp + 1] || graph.warp_weights[warp] < 1)
            refuse("a warp has no node, or a weight below 1");
}

Encoder::Rows Encoder::inputs(const TraceGraph& graph, const Classes& classes) const {
    const uint64_t width = tokens_.shape[1];
    Rows result(classes.count(), input_width());
    for (uint64_t row = 0; row < classes.count(); row++) {
        const uint64_t node = classes.first_node[row];
        const double* token = tokens_.values.data() + width * graph.tokens[2 * node];
        const double* modifier = modifiers_.values.data() + width * graph.tokens[2 * node + 1];
        for (uint64_t i = 0; i < width; i++) result[row][i] = token[i] + modifier[i];
        for (uint64_t i = 0; i < kFeatures; i++) result[row][width + i] = graph.features[kFeatures * node + i];
    }
    return result;
}

// Normalised outputs of `count` classes from `first` on.
Encoder::Rows Encoder::forward(const Layer& layer, const Rows& hidden, const Classes& before, const Classes& after,
                               const Incoming& incoming, uint64_t first, uint64_t count) const {
    Rows result(count, layer.root.columns()), means(count, layer.root.rows());
    std::vector<const double*> from(count);
    std::vector<double*> to(count);
    for (uint64_t i = 0; i < count; i++) {
        from[i] = hidden[before.of_node[after.first_node[first + i]]];
        std::copy(layer.bias.begin(), layer.bias.end(), to[i] = result[i]);
    }
    multiply_add(from, to, layer.root);
    for (uint32_t relation = 0; relation < incoming.relations(); relation++) {
        from.clear();
        to.clear();
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t node = after.first_node[first + i];
            const uint32_t *begin = incoming.begin(node, relation), *end = incoming.end(node, relation);
            if (begin == end) continue;
            double* mean = means[from.size()];
            std::fill_n(mean, layer.root.rows(), 0.0);
            for (auto source = begin; source != end; ++source)
                for (uint64_t j = 0; j < layer.root.rows(); j++) mean[j] += hidden[before.of_node[*source]][j];
            for (uint64_t j = 0; j < layer.root.rows(); j++) mean[j] /= static_cast<double>(end - begin);
            from.push_back(mean);
            to.push_back(result[i]);
        }
        multiply_add(from, to, layer.relations[relation]);
    }
    for (uint64_t i = 0; i < count; i++) normalise(result[i], layer.norm_weight, layer.norm_bias);
    return result;
}

std::vector<double> Encoder::embed(const TraceGraph& graph) const {
    check(graph);
    const Incoming incoming(graph, static_cast<uint32_t>(layers_[0].relations.size()));
    Classes before = input_classes(graph);
    Rows hidden = inputs(graph, before);
    std::vector<double> result(layers_.back().root.columns());
    for (const Layer& layer : layers_) {
        const bool is_last = &layer == &layers_.back();
        Classes after = refined(before, incoming);
        Rows next(is_last ? 0 : after.count(), layer.root.columns());
        const std::vector<double> weights = is_last ? shares(graph, after) : std::vector<double>();
        for (uint64_t first = 0; first < after.count(); first += kBlock) {
            const uint64_t count = std::min(kBlock, after.count() - first);
            const Rows block = forward(layer, hidden, before, after, incoming, first, count);
            for (uint64_t i = 0; i < count; i++)
                for (uint64_t j = 0; j < layer.root.columns(); j++) {
                    if (is_last)
                        result[j] += weights[first + i] * block[i][j];
                    else
                        next[first + i][j] = std::max(block[i][j], 0.0);
                }
        }
        hidden = std::move(next);
        before = std::move(after);
    }
    return result;
}

}  // namespace kernelpoint::encoder
