// The encoder's forward pass: from a graph to its embedding, as lab/kernelpoint_lab/training/model.py defines it.
//
//   h' = ReLU(LN(W_0 h_i + b + sum_r mean_{j in N_r(i)} W_r h_j)),  W_r = sum_b a_rb V_b
//
// no ReLU after the last layer; the embedding is the mean over the nodes of a warp, then the weighted mean over warps.
// Everything in double precision. Memory: inputs and outputs of one layer, for the classes of one graph (nodes that a
// layer cannot tell apart); outputs of the last layer are not kept. One thread; the same numbers whatever runs beside
// it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "native/graph/graph.h"

namespace kernelpoint::encoder {

using graph::TraceGraph;

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
    uint64_t embedding_width() const;

private:
    class Model;
    std::shared_ptr<const Model> model_;
};

}  // namespace kernelpoint::encoder
