// The encoder's forward pass: from a graph to its embedding, as lab/kernelpoint_lab/training/model.py defines it.
//
//   h' = ReLU(LN(W_0 h_i + b + sum_r mean_{j in N_r(i)} W_r h_j)),  W_r = sum_b a_rb V_b
//
// no ReLU after the last layer; the embedding is the mean over the nodes of a warp, then the weighted mean over warps.
// Everything in double precision. Memory: inputs and outputs of one layer, for the classes of one graph (classes.h);
// outputs of the last layer are not kept. One thread; the same numbers whatever runs beside it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "native/encoder/classes.h"
#include "native/encoder/dense.h"

namespace kernelpoint::encoder {

// A tensor of a checkpoint: shape and numbers.
struct Tensor {
    std::vector<uint64_t> shape;
    std::vector<double> values;
};
using Tensors = std::map<std::string, Tensor>;

class Encoder {
public:
    // Makes the encoder from tensors by name. Throws std::invalid_argument, with the tensor's name, if one is missing
    // or has a wrong shape.
    explicit Encoder(const Tensors& tensors);

    // Embeds a graph. Throws std::invalid_argument for a graph without nodes or with node numbers outside it.
    std::vector<double> embed(const TraceGraph& graph) const;

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

    static Layer read_layer(const Tensors& tensors, const std::string& number);
    uint64_t input_width() const { return layers_.front().root.rows(); }
    void check(const TraceGraph& graph) const;
    Rows inputs(const TraceGraph& graph, const Classes& classes) const;
    Rows forward(const Layer& layer, const Rows& hidden, const Classes& before, const Classes& after,
                 const Incoming& incoming, uint64_t first, uint64_t count) const;

    Tensor tokens_, modifiers_;
    std::vector<Layer> layers_;
};

}  // namespace kernelpoint::encoder
