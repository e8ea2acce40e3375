// The encoder's forward pass for Python. Arrays are read where they stand, unless their type or order is another.
#include "native/encoder/encoder.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "native/bindings/bindings.h"
#include "native/graph/graph.h"

namespace py = pybind11;

namespace kernelpoint {

namespace {

template <typename T>
using Array = py::array_t<T, py::array::c_style>;

encoder::Encoder make(const std::map<std::string, Array<double>>& arrays) {
    encoder::Tensors tensors;
    for (const auto& [name, array] : arrays)
        tensors[name] = {{array.shape(), array.shape() + array.ndim()}, {array.data(), array.data() + array.size()}};
    return encoder::Encoder(tensors);
}

py::array_t<double> as_array(const std::vector<double>& values) {
    return py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data());
}

void check_shape(const char* name, const py::array& array, const std::vector<py::ssize_t>& shape) {
    if (!std::equal(shape.begin(), shape.end(), array.shape(), array.shape() + array.ndim()))
        throw std::invalid_argument(std::string("graph: ") + name + " does not have the shape of the other arrays");
}

py::array_t<double> embed(const encoder::Encoder& encoder, const Array<uint8_t>& kinds, const Array<int32_t>& tokens,
                          const Array<float>& features, const Array<int64_t>& edge_index,
                          const Array<int64_t>& edge_type, const Array<int64_t>& warp_starts,
                          const Array<int64_t>& warp_weights) {
    const py::ssize_t nodes = tokens.size() / 2, edges = edge_type.size(), warps = warp_weights.size();
    const py::ssize_t columns = features.ndim() == 2 ? features.shape(1) : 0;
    check_shape("kinds", kinds, {nodes});
    check_shape("tokens", tokens, {nodes, 2});
    check_shape("features", features, {nodes, columns});
    check_shape("edge_index", edge_index, {2, edges});
    check_shape("edge_type", edge_type, {edges});
    check_shape("warp_starts", warp_starts, {warps + 1});
    check_shape("warp_weights", warp_weights, {warps});
    encoder::GraphView view;
    view.nodes = static_cast<uint64_t>(nodes);
    view.edges = static_cast<uint64_t>(edges);
    view.warps = static_cast<uint64_t>(warps);
    view.feature_count = static_cast<uint64_t>(columns);
    view.kinds = kinds.data();
    view.tokens = tokens.data();
    view.features = features.data();
    view.edge_index = edge_index.data();
    view.relations = edge_type.data();
    view.warp_starts = warp_starts.data();
    view.warp_weights = warp_weights.data();
    std::vector<double> result;
    {
        py::gil_scoped_release release;
        result = encoder.embed(view);
    }
    return as_array(result);
}

std::vector<double> embed_graph_of(const encoder::Encoder& encoder, const std::string& path, uint64_t max_nodes) {
    const graph::TraceGraph graph = graph::build_graph(path, max_nodes);
    if (graph.node_count() == 0) throw TraceError(path, 0, "executes no instruction, so it has no graph");
    encoder::GraphView view;
    view.nodes = graph.node_count();
    view.edges = graph.edge_count();
    view.warps = graph.warp_weights.size();
    view.feature_count = graph::kFeatureCount;
    view.kinds = graph.kinds.data();
    view.tokens = graph.tokens.data();
    view.features = graph.features.data();
    view.edge_index = graph.edges.data();
    view.relations = graph.relations.data();
    view.warp_starts = graph.warp_starts.data();
    view.warp_weights = graph.warp_weights.data();
    return encoder.embed(view);
}

py::array_t<double> embed_trace(const encoder::Encoder& encoder, const std::string& path, uint64_t max_nodes) {
    std::vector<double> result;
    {
        py::gil_scoped_release release;
        result = embed_graph_of(encoder, path, max_nodes);
    }
    return as_array(result);
}

}  // namespace

void register_encoder(py::module_& module) {
    py::class_<encoder::Encoder>(module, "Encoder")
        .def(py::init(&make), py::arg("tensors"))
        .def("embed", &embed, py::arg("kinds"), py::arg("tokens"), py::arg("features").noconvert(),
             py::arg("edge_index"), py::arg("edge_type").noconvert(), py::arg("warp_starts").noconvert(),
             py::arg("warp_weights"))
        .def("embed_trace", &embed_trace, py::arg("path"), py::arg("max_nodes"));
}

}  // namespace kernelpoint
