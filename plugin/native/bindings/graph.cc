// The graph builder, its schema and the encoder for Python. Arrays of graphs are views of the C++ vectors, which a
// capsule keeps alive: no copies.
#include "native/graph/graph.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>

#include "native/bindings/bindings.h"
#include "native/encoder/encoder.h"

namespace py = pybind11;

namespace kernelpoint {

namespace {

template <typename T>
py::array_t<T> view(std::vector<T>&& values, std::vector<py::ssize_t> shape) {
    auto owner = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owner->data();
    py::capsule keeper(owner.release(), [](void* p) { delete static_cast<std::vector<T>*>(p); });
    return py::array_t<T>(std::move(shape), data, keeper);
}

py::dict build(const std::string& path, uint64_t max_nodes) {
    graph::TraceGraph built = without_gil([&] { return graph::build_graph(path, max_nodes); });
    const auto nodes = static_cast<py::ssize_t>(built.node_count()), edges = static_cast<py::ssize_t>(built.edge_count());
    const auto warps = static_cast<py::ssize_t>(built.warp_weights.size());
    py::dict result;
    result["kinds"] = view(std::move(built.kinds), {nodes});
    result["tokens"] = view(std::move(built.tokens), {nodes, 2});
    result["features"] = view(std::move(built.features), {nodes, graph::kFeatureCount});
    result["edge_index"] = view(std::move(built.edges), {2, edges});
    result["edge_type"] = view(std::move(built.relations), {edges});
    result["warp_starts"] = view(std::move(built.warp_starts), {warps + 1});
    result["warp_weights"] = view(std::move(built.warp_weights), {warps});
    result["total_warps"] = built.total_warps;
    result["left_out_warps"] = built.left_out_warps;
    result["truncated"] = built.truncated;
    return result;
}

py::dict schema() {
    py::dict result, columns;
    result["version"] = graph::kSchemaVersion;
    result["node_kinds"] = graph::kNodeKindNames;
    result["relations"] = graph::kRelationNames;
    for (int kind = 0; kind < graph::kNodeKindCount; kind++)
        columns[graph::kNodeKindNames[kind]] = graph::column_names(static_cast<graph::NodeKind>(kind));
    result["columns"] = columns;
    result["feature_count"] = graph::kFeatureCount;
    result["opcodes"] = std::vector<std::string>(graph::opcode_vocabulary().begin(), graph::opcode_vocabulary().end());
    py::dict shared;
    for (const auto& token : graph::shared_tokens()) shared[py::str(token.opcode)] = token.older;
    result["shared_tokens"] = shared;
    result["token_count"] = graph::token_count();
    result["modifier_count"] = graph::kModifierCount;
    result["smallest_max_nodes"] = graph::kSmallestMaxNodes;
    return result;
}

py::dict classify(const std::string& text) {
    static const char* spaces[] = {"none", "global", "local", "shared", "constant", "generic", "texture"};
    const Opcode opcode = classify_opcode(text);
    py::dict result;
    result["unit"] = unit_names[static_cast<int>(opcode.unit)];
    result["space"] = spaces[static_cast<int>(opcode.space)];
    result["is_load"] = opcode.is_load;
    result["is_store"] = opcode.is_store;
    result["is_atomic"] = opcode.is_atomic;
    result["is_branch"] = opcode.is_branch;
    result["is_barrier"] = opcode.is_barrier;
    result["is_exit"] = opcode.is_exit;
    result["is_bulk_copy"] = opcode.is_bulk_copy;
    return result;
}

template <typename T>
using Array = py::array_t<T, py::array::c_style>;

encoder::Encoder make_encoder(const std::map<std::string, Array<double>>& arrays) {
    encoder::Tensors tensors;
    for (const auto& [name, array] : arrays)
        tensors[name] = {{array.shape(), array.shape() + array.ndim()}, {array.data(), array.data() + array.size()}};
    return encoder::Encoder(tensors);
}

template <typename T>
std::vector<T> elements_of(const char* name, const Array<T>& array, const std::vector<py::ssize_t>& shape) {
    if (!std::equal(shape.begin(), shape.end(), array.shape(), array.shape() + array.ndim()))
        throw std::invalid_argument(std::string("graph: ") + name + " does not have the shape of the other arrays");
    return {array.data(), array.data() + array.size()};
}

py::array_t<double> embed(const encoder::Encoder& encoder, const Array<uint8_t>& kinds, const Array<int32_t>& tokens,
                          const Array<float>& features, const Array<int64_t>& edge_index, const Array<int64_t>& edge_type,
                          const Array<int64_t>& warp_starts, const Array<int64_t>& warp_weights) {
    const py::ssize_t nodes = tokens.size() / 2, edges = edge_type.size(), warps = warp_weights.size();
    graph::TraceGraph graph;
    graph.kinds = elements_of("kinds", kinds, {nodes});
    graph.tokens = elements_of("tokens", tokens, {nodes, 2});
    graph.features = elements_of("features", features, {nodes, graph::kFeatureCount});
    graph.edges = elements_of("edge_index", edge_index, {2, edges});
    graph.relations = elements_of("edge_type", edge_type, {edges});
    graph.warp_starts = elements_of("warp_starts", warp_starts, {warps + 1});
    graph.warp_weights = elements_of("warp_weights", warp_weights, {warps});
    return array_of(without_gil([&] { return encoder.embed(graph); }));
}

py::array_t<double> embed_trace(const encoder::Encoder& encoder, const std::string& path, uint64_t max_nodes) {
    return array_of(without_gil([&] {
        const graph::TraceGraph graph = graph::build_graph(path, max_nodes);
        if (graph.node_count() == 0) throw TraceError(path, 0, "executes no instruction, so it has no graph");
        return encoder.embed(graph);
    }));
}

}  // namespace

void register_graph(py::module_& module) {
    module.def("build_graph", &build, py::arg("path"), py::arg("max_nodes"));
    module.def("graph_schema", &schema);
    module.def("classify_opcode", &classify, py::arg("text"));
    py::class_<encoder::Encoder>(module, "Encoder")
        .def(py::init(&make_encoder), py::arg("tensors"))
        .def("embed", &embed, py::arg("kinds"), py::arg("tokens"), py::arg("features").noconvert(), py::arg("edge_index"),
             py::arg("edge_type").noconvert(), py::arg("warp_starts").noconvert(), py::arg("warp_weights"))
        .def("embed_trace", &embed_trace, py::arg("path"), py::arg("max_nodes"));
}

}  // namespace kernelpoint
