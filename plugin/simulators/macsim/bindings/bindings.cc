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

void add_conversion(py::module_& part) {
    PYBIND11_NUMPY_DTYPE(StaticInstruction, pc, hash);
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
        "digest",
        [](const std::string& trace, const py::function& check) {
            const py::gil_scoped_release released;
            const Interruption interruption([&check] { tell(check); });
            return digest(trace);
        },
        py::arg("trace"), py::arg("check"));
    part.def(
        "each_warp",
        [](const std::string& trace, uint64_t code_base, const py::function& check, const py::function& take) {
            const py::gil_scoped_release released;
            const Interruption interruption([&check] { tell(check); });
            each_warp(trace, code_base, [&take](uint32_t id, const std::vector<Record>& records) {
                const py::gil_scoped_acquire held;
                take(id, py::bytes(reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record)));
            });
        },
        py::arg("trace"), py::arg("code_base"), py::arg("check"), py::arg("take"),
        "Calls `take` with the id and the records of every warp, and `check` now and then: what they raise ends it.");
    part.attr("CODE_SIZE") = code_size;
}

py::tuple run_cores(const std::vector<std::string>& paths, const fast_model::Derived& configuration, uint64_t memory_bytes,
                    const py::function& progress) {
    if (!configuration.cores) throw py::value_error("these cores have no model of their own");
    replay::macsim::Predictions found;
    {
        const py::gil_scoped_release released;
        const PythonSignals signals;
        const uint64_t all = replay::macsim::kReplications * paths.size();
        found = replay::macsim::predict_launches(paths, *configuration.cores, memory_bytes, [&](uint64_t launch) {
            if (launch % 64 == 0) tell(progress, launch, all);
        });
    }
    py::array_t<double> table({static_cast<py::ssize_t>(found.launches.size()), py::ssize_t{replay::macsim::kPredicted}});
    double* out = table.mutable_data();
    for (const replay::macsim::Prediction& one : found.launches)
        for (const double value : one) *out++ = one[replay::macsim::kCycles] == 0 ? NAN : value;
    return py::make_tuple(table, py::bytes(found.states));
}

void add_cores(py::module_& part) {
    part.attr("REPLICATIONS") = replay::macsim::kReplications;
    part.attr("CORE_MODEL_VERSION") = replay::macsim::kCoreModelVersion;
    part.def("run_cores", &run_cores, py::arg("paths"), py::arg("configuration"), py::arg("memory_bytes"), py::arg("progress"),
             "(table, states). float64 [launches, 12], a row as replay::macsim::Prediction; nan where there is no "
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
