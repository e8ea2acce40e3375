// The encoder's forward pass for Python.
#include "native/encoder/encoder.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "native/bindings/bindings.h"

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

template <typename T>
std::vector<T> elements_of(const char* name, const Array<T>& array, const std::vector<py::ssize_t>& shape) {
    if (!std::equal(shape.begin(), shape.end(), array.shape(), array.shape() + array.ndim()))
        throw std::invalid_argument(std::string("graph: ") + name + " does not have the shape of the other arrays");
    return {array.data(), array.data() + array.size()};
}

py::array_t<double> embed(const encoder::Encoder& encoder, const Array<uint8_t>& kinds, const Array<int32_t>& tokens,
                          const Array<float>& features, const Array<int64_t>& edge_index,
                          const Array<int64_t>& edge_type, const Array<int64_t>& warp_starts,
                          const Array<int64_t>& warp_weights) {
    const py::ssize_t nodes = tokens.size() / 2, edges = edge_type.size(), warps = warp_weights.size();
    graph::TraceGraph graph;
    graph.kinds = elements_of("kinds", kinds, {nodes});
    graph.tokens = elements_of("tokens", tokens, {nodes, 2});
    graph.features = elements_of("features", features, {nodes, graph::kFeatureCount});
    graph.edges = elements_of("edge_index", edge_index, {2, edges});
    graph.relations = elements_of("edge_type", edge_type, {edges});
    graph.warp_starts = elements_of("warp_starts", warp_starts, {warps + 1});
    graph.warp_weights = elements_of("warp_weights", warp_weights, {warps});
    std::vector<double> result;
    {
        const py::gil_scoped_release released;
        result = encoder.embed(graph);
    }
    return as_array(result);
}

py::array_t<double> embed_trace(const encoder::Encoder& encoder, const std::string& path, uint64_t max_nodes) {
    std::vector<double> result;
    {
        const py::gil_scoped_release released;
        const graph::TraceGraph graph = graph::build_graph(path, max_nodes);
        if (graph.node_count() == 0) throw TraceError(path, 0, "executes no instruction, so it has no graph");
        result = encoder.embed(graph);
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
