// MacSim's parts for Python: the conversion of Accel-Sim traces to its layout, and the model of its cores.
#include "native/bindings/bindings.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cmath>

#include "fast_model/configuration/derive.h"
#include "simulators/macsim/convert/convert.h"
#include "simulators/macsim/cores/predict.h"

namespace py = pybind11;

namespace kernelpoint::macsim {
namespace {

// Set by the thread that wants others to give up.
struct StopFlag {
    std::atomic<bool> stop{false};
};

void add_conversion(py::module_& part) {
    PYBIND11_NUMPY_DTYPE(StaticInstruction, pc, hash);
    py::register_exception<Stopped>(part, "Stopped");
    py::class_<StopFlag>(part, "StopFlag")
        .def(py::init())
        .def("set", [](StopFlag& flag) { flag.stop = true; })
        .def("is_set", [](const StopFlag& flag) { return flag.stop.load(); });
    py::class_<Digest>(part, "Digest")
        .def_readonly("header", &Digest::header)
        .def_property_readonly("content", [](const Digest& digest) { return digest.content.hex(); })
        .def_readonly("ctas_per_core", &Digest::ctas_per_core)
        .def_readonly("warps", &Digest::warps)
        .def_readonly("records", &Digest::records)
        .def_readonly("without_lanes", &Digest::without_lanes)
        .def_readonly("approximated", &Digest::approximated)
        .def_property_readonly("instructions", [](const Digest& digest) {
            return py::array_t<StaticInstruction>(static_cast<py::ssize_t>(digest.instructions.size()),
                                                  digest.instructions.data());
        });
    part.def(
        "digest", [](const std::string& trace, const StopFlag& flag) { return digest(trace, flag.stop); },
        py::arg("trace"), py::arg("stop"), py::call_guard<py::gil_scoped_release>());
    part.def(
        "write",
        [](const std::string& trace, const std::string& folder, uint64_t code_base, int level, const StopFlag& flag) {
            return write(trace, folder, code_base, level, flag.stop);
        },
        py::arg("trace"), py::arg("folder"), py::arg("code_base"), py::arg("level"), py::arg("stop"),
        py::call_guard<py::gil_scoped_release>());
    part.attr("CODE_SIZE") = code_size;
}

py::tuple run_cores(const std::vector<std::string>& paths, const fast_model::Derived& configuration,
                    uint64_t memory_bytes, const py::function& progress) {
    if (!configuration.cores) throw py::value_error("these cores have no model of their own");
    replay::macsim::Predicted found;
    {
        const py::gil_scoped_release released;
        const PythonSignals signals;
        const uint64_t all = replay::macsim::kReplications * paths.size();
        found = replay::macsim::predict_launches(paths, *configuration.cores, memory_bytes, [&](uint64_t launch) {
            if (launch % 64 == 0) tell(progress, launch, all);
        });
    }
    py::array_t<double> table({static_cast<py::ssize_t>(found.launches.size()), py::ssize_t{11}});
    double* out = table.mutable_data();
    for (const replay::macsim::Prediction& one : found.launches)
        for (const double value :
             {one.cycles, one.spread, one.mispredictions, one.replayed, one.of_total, one.fetch_misses, one.l1_accesses,
              one.l1_misses, one.merged, one.constant_accesses, one.replayed_mispredictions})
            *out++ = one.cycles == 0 ? NAN : value;
    return py::make_tuple(table, py::bytes(found.states));
}

void add_cores(py::module_& part) {
    part.attr("REPLICATIONS") = replay::macsim::kReplications;
    part.attr("CORE_MODEL_VERSION") = replay::macsim::kCoreModelVersion;
    part.def("run_cores", &run_cores, py::arg("paths"), py::arg("configuration"), py::arg("memory_bytes"),
             py::arg("progress"),
             "(table, states). float64 [launches, 11], a row as in replay::macsim::Prediction; nan where there is no "
             "trace that can be read. Bytes: the states that launches begin with in the trajectory that replay takes, "
             "as `Replay` takes them. `progress` is called with the launches that are done, and with how many they "
             "will be; what it raises ends the run.");
}

class MacsimBindings : public SimulatorBindings {
public:
    const char* name() const override { return "macsim"; }
    void add_to(py::module_& part) const override {
        add_conversion(part);
        add_cores(part);
    }
};

const Registered<SimulatorBindings, MacsimBindings> registered;

}  // namespace
}  // namespace kernelpoint::macsim
