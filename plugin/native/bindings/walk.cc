// Launches of a list on one simulated GPU, for Python: kernelpoint._native.fast_model.Walk.
#include "fast_model/list/walk.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>
#include <optional>

#include "fast_model/configuration/derive.h"
#include "fast_model/launch_progress.h"
#include "kernelpoint/abi.h"
#include "native/bindings/bindings.h"

namespace py = pybind11;

namespace kernelpoint {
namespace {

using fast_model::GpuConfig;
using fast_model::LaunchResult;
using Touches = py::array_t<kp_touch, py::array::c_style>;

std::vector<replay::Touch> touches_of(const Touches& told) {
    std::vector<replay::Touch> found(static_cast<size_t>(told.size()));
    const kp_touch* from = told.data();
    for (replay::Touch& touch : found) {
        touch.line = from->line / replay::kLineBytes;
        touch.touched = from->touched;
        touch.written = from->written;
        touch.copied = from->copied != 0;
        ++from;
    }
    return found;
}

// The list lives as long as the walk over it.
class ListWalk {
public:
    ListWalk(const std::string& list, const fast_model::Derived& configuration)
        : list_(read_trace_list(list)), walk_(configuration.config, list_), hash_(configuration.config.hash()) {}

    const std::string& config_hash() const { return hash_; }
    uint64_t launches() const { return walk_.launches(); }
    const std::string& path(uint64_t launch) const { return walk_.path(checked(launch)); }

    // `touches`: none where the state is kept. `stops` is called with (cycles, instructions, CTAs issued, CTAs
    // completed, all CTAs), and is true where the launch is to be stopped.
    py::tuple simulate(uint64_t launch, const std::optional<Touches>& touches, uint64_t interval,
                       const py::function& stops) {
        checked(launch);
        if (!touches) walk_.keep_state(launch);
        const auto replayed = touches ? touches_of(*touches) : std::vector<replay::Touch>();
        {
            const py::gil_scoped_release released;
            const PythonSignals signals;
            if (touches) replay_touches(walk_.gpu(), replayed);
            run(launch, interval, stops);
        }
        const LaunchResult& result = walk_.gpu().result();
        std::vector<uint64_t> counters;
        for (const fast_model::CounterField& field : fast_model::kCounterFields)
            counters.push_back(result.counters.*field.value);
        return py::make_tuple(result.cycles, result.instructions, py::tuple(py::cast(counters)), result.stopped);
    }

private:
    uint64_t checked(uint64_t launch) const {
        if (launch >= launches()) throw py::index_error("launch " + std::to_string(launch) + " is not in the list");
        return launch;
    }

    void run(uint64_t launch, uint64_t interval, const py::function& stops) {
        fast_model::Gpu& gpu = walk_.gpu();
        const auto at_interval = [&] {
            const py::gil_scoped_acquire held;
            const py::object answer = stops(gpu.cycles(), gpu.instructions(), gpu.ctas_issued(), gpu.ctas_completed(),
                                            gpu.header().grid.count());
            if (answer.cast<bool>()) gpu.stop_issuing();
        };
        try {
            walk_.simulate(launch, interval, at_interval, interruption_point);
        } catch (...) {
            gpu.abandon();
            throw;
        }
    }

    const TraceList list_;
    fast_model::Walk walk_;
    const std::string hash_;
};

py::tuple counter_names() {
    std::vector<std::string> names;
    for (const fast_model::CounterField& field : fast_model::kCounterFields) names.emplace_back(field.name);
    return py::tuple(py::cast(names));
}

}  // namespace

void register_walk(py::module_& module) {
    py::module_ part = module.attr("fast_model").cast<py::module_>();
    part.attr("COUNTERS") = counter_names();
    py::class_<ListWalk>(part, "Walk", "Launches of a list on one simulated GPU, in whatever order they are asked for.")
        .def(py::init<const std::string&, const fast_model::Derived&>(), py::arg("list"), py::arg("configuration"))
        .def_property_readonly("config_hash", &ListWalk::config_hash)
        .def_property_readonly("launches", &ListWalk::launches)
        .def("path", &ListWalk::path, py::arg("launch"))
        .def("simulate", &ListWalk::simulate, py::arg("launch"), py::arg("touches"), py::arg("interval"),
             py::arg("stops"),
             "Simulate a launch: (cycles, instructions, values of COUNTERS, whether it was stopped inside). `touches`: "
             "of the launches before it, as a replay gives them, which it begins with; None: it begins with what the "
             "GPU holds. `stops` is called every `interval` cycles, unless that is 0, with cycles, thread "
             "instructions, CTAs issued, completed and in all; where it is true no more CTAs are issued.");
}

}  // namespace kernelpoint
