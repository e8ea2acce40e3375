#include "native/encoder/encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <unordered_map>

#include "native/trace/stream_hash.h"

namespace kernelpoint::encoder {

// ---- rows of numbers times a matrix, in double precision

constexpr size_t kPanel = 8;  // columns that are computed together

constexpr size_t padded(size_t columns) {
    return (columns + kPanel - 1) / kPanel * kPanel;
}

constexpr size_t kTile = 6;  // rows whose sums stay in registers

// Sums of kTile rows over one panel, in vectors of `bytes`. A macro, because the compiler lowers vectors before it
// inlines: a function for one processor has to spell them out itself.
#define KP_TILE(name, bytes, processor)                                                                     \
    processor void name(const double* const* inputs, const double* panel, size_t depth, double* sums) {     \
        typedef double Vector __attribute__((vector_size(bytes), aligned(sizeof(double)), may_alias));      \
        constexpr size_t parts = kPanel * sizeof(double) / bytes;                                           \
        Vector sum[kTile][parts] = {};                                                                      \
        for (size_t k = 0; k < depth; k++)                                                                  \
            for (size_t j = 0; j < parts; j++) {                                                            \
                const Vector weights = reinterpret_cast<const Vector*>(panel + k * kPanel)[j];              \
                for (size_t i = 0; i < kTile; i++) sum[i][j] += inputs[i][k] * weights;                     \
            }                                                                                               \
        for (size_t i = 0; i < kTile; i++)                                                                  \
            for (size_t j = 0; j < parts; j++) reinterpret_cast<Vector*>(sums + i * kPanel)[j] = sum[i][j]; \
    }

KP_TILE(plain_tile, 16, )

#if defined(__x86_64__)
KP_TILE(avx2_tile, 32, __attribute__((target("avx2,fma"))))
KP_TILE(avx512_tile, 64, __attribute__((target("avx512f"))))

auto* fastest_tile() {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) return avx512_tile;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx2_tile : plain_tile;
}
#else
auto* fastest_tile() {
    return plain_tile;
}
#endif

// A matrix [rows, columns] stored as panels of kPanel columns; the last panel is padded with zeros.
class Matrix {
public:
    Matrix() = default;
    // `values`: row-major.
    Matrix(const double* values, size_t rows, size_t columns)
        : rows_(rows), columns_(columns), panels_(rows * padded(columns)) {
        for (size_t row = 0; row < rows; row++)
            for (size_t column = 0; column < columns; column++)
                panels_[(column / kPanel * rows + row) * kPanel + column % kPanel] = values[row * columns + column];
    }

    size_t rows() const { return rows_; }
    size_t columns() const { return columns_; }
    const double* panel(size_t number) const { return panels_.data() + number * rows_ * kPanel; }
    size_t panel_count() const { return padded(columns_) / kPanel; }

private:
    size_t rows_ = 0, columns_ = 0;
    std::vector<double> panels_;  // [panel, row, kPanel]
};

// Computes outputs[i] += inputs[i] * matrix for `count` rows. An output has padded(columns) numbers. Numerics: each
// output is summed in a fixed order; processors with and without fused multiply-add differ by an ulp.
void multiply_add(const std::vector<const double*>& inputs, const std::vector<double*>& outputs, const Matrix& matrix) {
    static auto* const tile = fastest_tile();
    double sums[kTile * kPanel];
    const double* rows[kTile];
    for (size_t panel = 0; panel < matrix.panel_count(); panel++) {
        for (size_t first = 0; first < inputs.size(); first += kTile) {
            const size_t count = std::min(kTile, inputs.size() - first);
            for (size_t i = 0; i < kTile; i++) rows[i] = inputs[first + std::min(i, count - 1)];
            tile(rows, matrix.panel(panel), matrix.rows(), sums);
            for (size_t i = 0; i < count; i++) {
                double* output = outputs[first + i] + panel * kPanel;
                for (size_t j = 0; j < kPanel; j++) output[j] += sums[i * kPanel + j];
            }
        }
    }
}

// ---- nodes that a layer cannot tell apart: computed once
//
// A node's output at a layer depends on its own input, and on the inputs that arrive over each relation. Nodes with the
// same token and features are of one class at the input; nodes of one class whose incoming edges are equal in relation
// and in the class of the source are of one class after a layer (colour refinement; Weisfeiler and Leman, 1968). Warps
// of a launch run much the same instructions, so the classes are a half to a tenth of the nodes.

// Sources of the incoming edges of every node, by relation, in the order of the edges.
class Incoming {
public:
    Incoming(const TraceGraph& graph, uint32_t relations)
        : relations_(relations), starts_(graph.node_count() * relations + 2), sources_(graph.edge_count()) {
        const int64_t* targets = graph.edges.data() + graph.edge_count();
        // Counts stand two places later: after the sums one place later, where writing moves them to their own.
        const auto group_of = [&](uint64_t edge) { return targets[edge] * relations + graph.relations[edge]; };
        for (uint64_t edge = 0; edge < graph.edge_count(); edge++) starts_[group_of(edge) + 2]++;
        for (size_t i = 2; i < starts_.size(); i++) starts_[i] += starts_[i - 1];
        for (uint64_t edge = 0; edge < graph.edge_count(); edge++)
            sources_[starts_[group_of(edge) + 1]++] = static_cast<uint32_t>(graph.edges[edge]);
    }

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

// ---- the layers

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
    for (uint64_t warp = 0; warp < graph.warp_weights.size(); warp++) total += static_cast<double>(graph.warp_weights[warp]);
    for (uint64_t warp = 0; warp < graph.warp_weights.size(); warp++) {
        const int64_t first = graph.warp_starts[warp], end = graph.warp_starts[warp + 1];
        const double share = static_cast<double>(graph.warp_weights[warp]) / static_cast<double>(end - first) / total;
        for (int64_t node = first; node < end; node++) result[classes.of_node[node]] += share;
    }
    return result;
}

class Encoder::Model {
public:
    explicit Model(const Tensors& tensors)
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

    std::vector<double> embed(const TraceGraph& graph) const {
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

    uint64_t embedding_width() const { return layers_.back().root.columns(); }

private:
    struct Layer {
        Matrix root;
        std::vector<Matrix> relations;
        std::vector<double> bias, norm_weight, norm_bias;
    };

    // Numbers [count, stride], one row for each class of a graph.
    struct Rows {
        Rows(uint64_t count, uint64_t columns) : stride(padded(columns)), values(count * stride) {}
        double* operator[](uint64_t row) { return values.data() + row * stride; }
        const double* operator[](uint64_t row) const { return values.data() + row * stride; }
        uint64_t stride;
        std::vector<double> values;
    };

    uint64_t input_width() const { return layers_.front().root.rows(); }

    static Layer read_layer(const Tensors& tensors, const std::string& number) {
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

    void check(const TraceGraph& graph) const {
        const auto refuse = [](const char* what) { throw std::invalid_argument(std::string("graph: ") + what); };
        const auto outside = [](int64_t value, uint64_t size) { return static_cast<uint64_t>(value) >= size; };
        if (graph.node_count() == 0 || graph.node_count() > UINT32_MAX) refuse("it has no node, or 2^32 or more");
        if (kFeatures != input_width() - tokens_.shape[1]) refuse("its features are not those of the encoder");
        for (uint64_t node = 0; node < graph.node_count(); node++)
            if (outside(graph.tokens[2 * node], tokens_.shape[0]) || outside(graph.tokens[2 * node + 1], modifiers_.shape[0]))
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

    Rows inputs(const TraceGraph& graph, const Classes& classes) const {
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
    Rows forward(const Layer& layer, const Rows& hidden, const Classes& before, const Classes& after, const Incoming& incoming,
                 uint64_t first, uint64_t count) const {
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

    Tensor tokens_, modifiers_;
    std::vector<Layer> layers_;
};

Encoder::Encoder(const Tensors& tensors) : model_(std::make_shared<const Model>(tensors)) {}

std::vector<double> Encoder::embed(const TraceGraph& graph) const {
    return model_->embed(graph);
}

uint64_t Encoder::embedding_width() const {
    return model_->embedding_width();
}

}  // namespace kernelpoint::encoder
