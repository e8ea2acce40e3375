// Conversion of Accel-Sim traces to MacSim's layout for Python.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "native/bindings/bindings.h"
#include "native/convert/macsim.h"

namespace py = pybind11;

namespace kernelpoint {

namespace {

// Set by the thread that wants others to give up.
struct StopFlag {
    std::atomic<bool> stop{false};
};

}  // namespace

void register_convert(py::module_& module) {
    PYBIND11_NUMPY_DTYPE(macsim::StaticInstruction, pc, hash);
    py::register_exception<macsim::Stopped>(module, "Stopped");
    py::class_<StopFlag>(module, "StopFlag")
        .def(py::init())
        .def("set", [](StopFlag& flag) { flag.stop = true; })
        .def("is_set", [](const StopFlag& flag) { return flag.stop.load(); });
    py::class_<macsim::Digest>(module, "MacsimDigest")
        .def_readonly("header", &macsim::Digest::header)
        .def_property_readonly("content", [](const macsim::Digest& digest) { return digest.content.hex(); })
        .def_readonly("ctas_per_core", &macsim::Digest::ctas_per_core)
        .def_readonly("warps", &macsim::Digest::warps)
        .def_readonly("records", &macsim::Digest::records)
        .def_readonly("without_lanes", &macsim::Digest::without_lanes)
        .def_readonly("approximated", &macsim::Digest::approximated)
        .def_property_readonly("instructions", [](const macsim::Digest& digest) {
            return py::array_t<macsim::StaticInstruction>(static_cast<py::ssize_t>(digest.instructions.size()),
                                                          digest.instructions.data());
        });
    module.def(
        "macsim_digest",
        [](const std::string& trace, const StopFlag& flag) { return macsim::digest(trace, flag.stop); },
        py::arg("trace"), py::arg("stop"), py::call_guard<py::gil_scoped_release>());
    module.def(
        "macsim_write",
        [](const std::string& trace, const std::string& folder, uint64_t code_base, int level, const StopFlag& flag) {
            return macsim::write(trace, folder, code_base, level, flag.stop);
        },
        py::arg("trace"), py::arg("folder"), py::arg("code_base"), py::arg("level"), py::arg("stop"),
        py::call_guard<py::gil_scoped_release>());
    module.attr("MACSIM_CODE_SIZE") = macsim::code_size;
}

}  // namespace kernelpoint
