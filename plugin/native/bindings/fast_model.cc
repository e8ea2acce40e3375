// The fast model for Python: kernelpoint._native.fast_model.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "fast_model/configuration/derive.h"
#include "fast_model/gpu.h"
#include "fast_model/list/run.h"
#include "native/bindings/bindings.h"

namespace py = pybind11;

namespace kernelpoint {
namespace {

using fast_model::Derived;
using fast_model::LaunchResult;
using fast_model::ListResult;
using Touches = py::array_t<kp_touch, py::array::c_style>;  // of the launches before, as a replay gives them

// The row of each launch, and the columns as numpy arrays (where a launch was not simulated, the last row is nan), then
// failures and the number of launches that were simulated.
py::tuple columns_of(const ListResult& result) {
    const size_t rows = result.numbers.size();
    py::array_t<int32_t> kinds(static_cast<py::ssize_t>(result.of_launch.size()));
    int32_t* kind = kinds.mutable_data();
    bool has_unknown = false;
    for (const uint32_t number : result.of_launch) {
        has_unknown |= number == fast_model::kNoNumbers;
        *kind++ = static_cast<int32_t>(std::min<size_t>(number, rows));
    }
    const auto column = [&](const auto& value) {
        py::array_t<double> values(static_cast<py::ssize_t>(rows + has_unknown));
        double* out = values.mutable_data();
        for (const ListResult::Numbers& numbers : result.numbers) *out++ = static_cast<double>(value(numbers));
        if (has_unknown) *out = NAN;
        return values;
    };
    using Numbers = ListResult::Numbers;
    py::dict columns;
    columns["cycles"] = column([](const Numbers& n) { return n.cycles; });
    columns["instructions"] = column([](const Numbers& n) { return n.instructions; });
    for (const fast_model::CounterField& field : fast_model::kCounterFields)
        columns[field.name] = column([&](const Numbers& n) { return n.counters.*field.value; });
    return py::make_tuple(kinds, columns, result.failures, result.simulated);
}

template <typename Number>
std::vector<Number> of_contents(const char* name, const std::optional<Numbers<Number>>& given, size_t contents) {
    if (!given) return {};
    if (given->ndim() != 1 || static_cast<size_t>(given->size()) != contents)
        throw py::value_error(std::string(name) + ": expected a number of each content");
    return {given->data(), given->data() + given->size()};
}

py::tuple run(const Numbers<int32_t>& contents, const std::vector<std::string>& paths, const Numbers<uint64_t>& copies,
              const Derived& configuration, const py::function& progress, uint64_t memory_bytes,
              const std::optional<Numbers<uint64_t>>& bytes, const std::optional<Numbers<uint32_t>>& streams) {
    const Launches launches = launches_of(contents, paths, copies);
    const fast_model::Effort effort{memory_bytes, of_contents("bytes", bytes, paths.size()),
                                    of_contents("streams", streams, paths.size())};
    const auto report = [&](uint64_t done, double share) { tell(progress, done, share); };
    return columns_of(without_gil([&] { return run_list(configuration.config, launches, effort, report); }));
}

py::dict values_of(const Derived& derived) {
    py::dict values;
    for (const auto& [key, value] : derived.config.values()) values[py::str(key)] = value;
    return values;
}

Derived derive(const std::vector<std::pair<std::string, std::string>>& texts, const std::string& base) {
    std::vector<fast_model::ConfigurationText> sources;
    for (const auto& [where, text] : texts) sources.push_back({text, where});
    return fast_model::derive_configuration(sources, base);
}

// (residency, predictor, caches) of SMs that have a model of their own, as a StateInfo has them; else None.
py::object cores_of(const Derived& derived) {
    if (!derived.cores) return py::none();
    const replay::Residency& held = derived.cores->residency;
    const replay::PredictorInfo& predictor = derived.cores->predictor;
    const replay::CacheInfo& caches = derived.cores->caches;
    return py::make_tuple(
        py::make_tuple(held.sms, held.ctas_per_sm, held.warps_per_sm, held.registers_per_sm, held.shared_memory_per_sm),
        py::make_tuple(predictor.history_bits, predictor.counter_bits),
        py::make_tuple(caches.l1_sets, caches.l1_ways, caches.l1_latency, caches.last_level_sets, caches.last_level_ways,
                       caches.last_level_latency));
}

py::dict alone(const std::string& path, const Derived& configuration) {
    fast_model::Gpu gpu(configuration.config);
    const LaunchResult result = without_gil([&] { return gpu.run(path, 0, {}); });
    py::dict found;
    found["cycles"] = result.cycles;
    found["instructions"] = result.instructions;
    for (const fast_model::CounterField& field : fast_model::kCounterFields) found[field.name] = result.counters.*field.value;
    for (const fast_model::StallField& field : fast_model::kStallFields)
        found[field.name] = result.waited[static_cast<size_t>(field.wait)];
    return found;
}

uint64_t checked(const fast_model::Walk& walk, uint64_t launch) {
    if (launch >= walk.launches()) throw py::index_error("launch " + std::to_string(launch) + " is not in the list");
    return launch;
}

// `touches`: none where the state is kept. `stops` is called with (cycles, instructions, CTAs issued, CTAs completed,
// all CTAs), and is true where the launch is to be stopped.
py::tuple simulate(fast_model::Walk& walk, uint64_t launch, const std::optional<Touches>& touches, uint64_t interval,
                   const py::function& stops) {
    checked(walk, launch);
    fast_model::Gpu& gpu = walk.gpu();
    if (touches)
        gpu.replay(touches->data(), static_cast<uint64_t>(touches->size()));
    else
        walk.keep_state(launch);
    const auto ask = [&] {
        const py::gil_scoped_acquire held;
        const py::object answer =
            stops(gpu.cycles(), gpu.instructions(), gpu.ctas_issued(), gpu.ctas_completed(), gpu.header().grid.count());
        if (answer.cast<bool>()) gpu.stop_issuing();
    };
    const LaunchResult result = without_gil([&] { return walk.simulate(launch, interval, ask); });
    std::vector<uint64_t> counters;
    for (const fast_model::CounterField& field : fast_model::kCounterFields) counters.push_back(result.counters.*field.value);
    return py::make_tuple(result.cycles, result.instructions, py::tuple(py::cast(counters)), result.stopped);
}

py::tuple counter_names() {
    std::vector<std::string> names;
    for (const fast_model::CounterField& field : fast_model::kCounterFields) names.emplace_back(field.name);
    return py::tuple(py::cast(names));
}

void add_functions(py::module_& part) {
    part.def("run", &run, py::arg("contents"), py::arg("paths"), py::arg("copies"), py::arg("configuration"),
             py::arg("progress"), py::arg("memory_bytes") = fast_model::Effort{}.memory_bytes, py::arg("bytes") = py::none(),
             py::arg("streams") = py::none(),
             "Simulate launches in order: (int32 [launches], counter -> float64 [rows], [(launch index, reason of a "
             "failure), ...], how many launches had to be simulated); the first says which row each launch has, the last "
             "row is nan where any launch has no result. `contents`: of each launch, -1 "
             "where it was not traced; `paths`: a trace of each content. `progress` is called with the launches that are "
             "done and a share of the work, about ten times a second; what it raises ends the run. The result does not "
             "depend on `memory_bytes` for outcomes that may come again, nor on `bytes` of the text of each content. "
             "`streams`: of each content; launches of one stream whose numbers have settled are not all simulated.");
    part.def("alone", &alone, py::arg("path"), py::arg("configuration"),
             "Simulate one launch with empty caches: its cycles, instructions, counters, and *_stalls, the cycles of warp "
             "schedulers in which what issues next waited for memory, for another result, at a barrier, for its unit.");
    part.attr("COUNTERS") = counter_names();
    py::class_<fast_model::Walk>(part, "Walk", "Launches of a list on one simulated GPU, in whatever order they are asked for.")
        .def(py::init([](const std::string& list, const Derived& configuration) {
                 return std::make_unique<fast_model::Walk>(configuration.config, read_trace_list(list));
             }),
             py::arg("list"), py::arg("configuration"))
        .def_property_readonly("config_hash", [](const fast_model::Walk& walk) { return walk.gpu().config().hash(); })
        .def_property_readonly("launches", &fast_model::Walk::launches)
        .def(
            "path", [](const fast_model::Walk& walk, uint64_t launch) { return walk.path(checked(walk, launch)); },
            py::arg("launch"))
        .def("simulate", &simulate, py::arg("launch"), py::arg("touches"), py::arg("interval"), py::arg("stops"),
             "Simulate a launch: (cycles, instructions, values of COUNTERS, whether it was stopped early). `touches`: "
             "of the launches before it, as a replay gives them, which it begins with; None: it begins with what the "
             "GPU holds. `stops` is called every `interval` cycles, unless that is 0, with cycles, thread "
             "instructions, CTAs issued, completed and in all; where it is true no more CTAs are issued.");
}

}  // namespace

void register_fast_model(py::module_& module) {
    py::module_ part = module.def_submodule("fast_model", "The fast model of a GPU; see kernelpoint.fast_model.");
    part.attr("MODEL_VERSION") = fast_model::kModelVersion;
    py::class_<Derived>(part, "Configuration", "A simulated GPU, in the model's terms.")
        .def_property_readonly("name", [](const Derived& d) { return d.config.name; })
        .def_property_readonly("hash", [](const Derived& d) { return d.hash(); })
        .def_property_readonly("values", &values_of)
        .def_property_readonly("text", [](const Derived& d) { return d.config.text(); })
        .def_readonly("simulator", &Derived::simulator)
        .def_property_readonly("cores", &cores_of)
        .def_property_readonly("notes", &fast_model::notes);
    part.def("derive", &derive, py::arg("texts"), py::arg("base"),
             "A Configuration from [(where, text), ...] of one simulator; what they leave open is as in the file `base`.");
    add_functions(part);
}

}  // namespace kernelpoint
