// The encoder on tensors of a checkpoint and the arrays of a graph: shapes and numbers of the input's choice are
// refused, or give an embedding of the width that the encoder states.
#include "native/encoder/encoder.h"

#include "abi_calls.h"

namespace {

using kernelpoint::encoder::Tensor;

// A tensor of this shape, some dimension of which may be another.
Tensor tensor(fuzz::Choices& choices, std::vector<uint64_t> shape) {
    for (uint64_t& dimension : shape)
        if (choices.seldom()) dimension = choices.below(9);
    if (choices.seldom()) shape.push_back(1);
    size_t count = 1;
    for (const uint64_t dimension : shape) count *= dimension;
    Tensor made{shape, std::vector<double>(count)};
    for (double& value : made.values) value = choices.seldom() ? choices.amount() : choices.byte() / 64.0 - 2;
    return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace kernelpoint;
    constexpr uint64_t features = graph::kFeatureCount, wide = 4;
    fuzz::Choices choices(data, size);
    encoder::Tensors tensors{{"tokens.weight", tensor(choices, {3, 2})}, {"modifiers.weight", tensor(choices, {2, 2})}};
    const uint64_t layers = choices.below(4), relations = 1 + choices.below(6);
    for (uint64_t layer = 0; layer < layers; ++layer) {
        const std::string number = std::to_string(layer), name = "layers." + number;
        const uint64_t in = layer == 0 ? 2 + features : wide;
        tensors[name + ".root"] = tensor(choices, {in, wide});
        tensors[name + ".weight"] = tensor(choices, {2, in, wide});
        tensors[name + ".comp"] = tensor(choices, {relations, 2});
        tensors[name + ".bias"] = tensor(choices, {wide});
        tensors["norms." + number + ".weight"] = tensor(choices, {wide});
        tensors["norms." + number + ".bias"] = tensor(choices, {wide});
    }
    if (choices.seldom()) tensors.erase(std::next(tensors.begin(), static_cast<long>(choices.below(tensors.size()))));
    graph::TraceGraph input;
    const auto number = [&](uint64_t below) {
        return static_cast<int64_t>(choices.seldom() ? choices.number() : choices.below(below));
    };
    const uint64_t nodes = choices.below(6), edges = choices.below(9);
    for (uint64_t node = 0; node < nodes; ++node) {
        input.kinds.push_back(static_cast<uint8_t>(choices.below(3)));
        input.tokens.push_back(static_cast<int32_t>(number(3)));
        input.tokens.push_back(static_cast<int32_t>(number(2)));
        for (uint64_t i = 0; i < features; ++i) input.features.push_back(static_cast<float>(choices.amount()));
    }
    for (uint64_t end = 0; end < 2 * edges; ++end) input.edges.push_back(number(nodes + 1));
    for (uint64_t edge = 0; edge < edges; ++edge) input.relations.push_back(number(relations));
    input.warp_starts = {0, number(2), static_cast<int64_t>(nodes)};
    input.warp_weights = {1 + number(3), 1 + number(3)};
    try {
        const encoder::Encoder made(tensors);
        fuzz::require(made.embed(input).size() == made.embedding_width());
    } catch (const std::invalid_argument&) {
    }
    return 0;
}
