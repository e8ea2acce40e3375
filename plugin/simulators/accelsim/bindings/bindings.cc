// Accel-Sim's .tracez for Python: the index, any warp by itself, and the frames that a writer needs.
#include "native/bindings/bindings.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "simulators/accelsim/trace/tracez_source.h"

namespace py = pybind11;

namespace kernelpoint {

namespace {

struct WarpRow {  // of the index
    uint32_t cta, warp, instructions, sub_chunks;
    uint64_t offset;
};

// (uint32 [CTAs, 10]: index, cluster, place in the cluster and rank of every CTA; a row for every warp)
py::tuple read_index(const std::string& path) {
    std::vector<uint32_t> ctas;
    std::vector<WarpRow> warps;
    {
        py::gil_scoped_release unlocked;
        const PythonSignals signals;
        const TracezFile file(path);
        TracezIndex index(file);
        TracezCta cta;
        for (uint32_t number = 0; index.next(cta); ++number) {
            for (const Dim3& place : {cta.index, cta.cluster.index, cta.cluster.cta})
                ctas.insert(ctas.end(), {place.x, place.y, place.z});
            ctas.push_back(cta.cluster.rank);
            for (uint32_t warp = 0; warp < cta.warps.size(); ++warp) {
                const TracezWarp& entry = cta.warps[warp];
                warps.push_back(
                    {number, warp, entry.instructions, static_cast<uint32_t>(entry.sub_chunks.size()), entry.offset});
            }
        }
    }
    const auto rows = static_cast<py::ssize_t>(ctas.size() / 10);
    return py::make_tuple(py::array_t<uint32_t>({rows, py::ssize_t{10}}, ctas.data()),
                          py::array_t<WarpRow>(static_cast<py::ssize_t>(warps.size()), warps.data()));
}

py::dict read_warp(TracezWarps& warps, uint64_t cta, uint32_t warp) {
    Cta into;
    {
        py::gil_scoped_release unlocked;
        const PythonSignals signals;
        warps.read(cta, warp, into);
    }
    return cta_to_dict(into);
}

py::bytes train(const std::vector<std::string>& samples, size_t size) {
    return train_zstd_dictionary(samples, size);
}

py::bytes compress(const py::bytes& text, const py::bytes& dictionary, int level) {
    const auto text_view = static_cast<std::string_view>(text), known = static_cast<std::string_view>(dictionary);
    std::string frame;
    {
        py::gil_scoped_release unlocked;
        frame = compress_zstd(text_view, known, level);
    }
    return frame;
}

void add_tracez(py::module_& module) {
    PYBIND11_NUMPY_DTYPE(WarpRow, cta, warp, instructions, sub_chunks, offset);
    py::class_<TracezWarps>(module, "TracezWarps")
        .def(py::init<const std::string&, bool>(), py::arg("path"), py::arg("keep_values") = false)
        .def_property_readonly("header", [](const TracezWarps& warps) { return warps.file().header.launch; })
        .def_property_readonly("cta_count", &TracezWarps::cta_count)
        .def_property_readonly("opcodes", [](const TracezWarps& warps) { return opcode_texts(warps.opcodes()); })
        .def("read", &read_warp, py::arg("cta"), py::arg("warp"));
    module.def("read_tracez_index", &read_index, py::arg("path"));
    module.def("compress_zstd", &compress, py::arg("text"), py::arg("dictionary"), py::arg("level") = 3);
    module.def("train_zstd_dictionary", &train, py::arg("samples"), py::arg("size"));
}

class AccelsimBindings : public SimulatorBindings {
public:
    const char* name() const override { return "accelsim"; }
    void add_to(py::module_& part) const override { add_tracez(part); }
};

const Registered<SimulatorBindings, AccelsimBindings> registered;

}  // namespace
}  // namespace kernelpoint
