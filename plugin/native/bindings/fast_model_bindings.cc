// The fast model for Python: kernelpoint._native.fast_model.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cmath>
#include <optional>
#include <unordered_map>

#include "fast_model/configuration/derive.h"
#include "fast_model/list/run.h"
#include "native/bindings/fast_model.h"

namespace py = pybind11;

namespace kernelpoint {
namespace {

using fast_model::Derived;
using fast_model::ListResult;

// `copies`: [n, 3], each copy's position among all commands, address and bytes, as read_trace_list gives them.
TraceList list_of(const py::list& paths, const Copies& copies) {
    TraceList list;
    std::unordered_map<PyObject*, SharedText> known;  // texts that Python has once
    const auto rows = copies.unchecked<2>();
    py::ssize_t copy = 0;
    const auto add_copies = [&] {
        for (; copy < rows.shape(0) && rows(copy, 0) == list.commands.size(); ++copy)
            list.commands.push_back({TraceList::Kind::memcpy, {}, rows(copy, 1), rows(copy, 2), -1});
    };
    for (const py::handle path : paths) {
        add_copies();
        const auto [shared, added] = known.try_emplace(path.ptr());
        if (added) shared->second = path.cast<std::string>();
        list.commands.push_back({TraceList::Kind::launch, shared->second, 0, 0, -1});
        ++list.launches;
    }
    return list;
}

// Each column as numpy has it: nan where a launch was not simulated.
py::dict columns_of(const ListResult& result) {
    const auto column = [&](const auto& value) {
        py::array_t<double> values(static_cast<py::ssize_t>(result.of_launch.size()));
        double* out = values.mutable_data();
        for (const uint32_t number : result.of_launch)
            *out++ = number == fast_model::kNoNumbers ? NAN : static_cast<double>(value(result.numbers[number]));
        return values;
    };
    using Numbers = ListResult::Numbers;
    py::dict columns;
    columns["cycles"] = column([](const Numbers& n) { return n.cycles; });
    columns["instructions"] = column([](const Numbers& n) { return n.instructions; });
    for (const fast_model::CounterField& field : fast_model::kCounterFields)
        columns[field.name] = column([&](const Numbers& n) { return n.counters.*field.value; });
    return columns;
}

std::vector<Content> contents_of(const std::optional<Copies>& table, size_t launches) {
    std::vector<Content> found;
    if (!table) return found;
    const auto rows = table->unchecked<2>();
    if (rows.shape(0) != static_cast<py::ssize_t>(launches) || rows.shape(1) != 3)
        throw py::value_error("contents: expected a row of three numbers for each launch");
    for (py::ssize_t i = 0; i < rows.shape(0); ++i) found.push_back({{rows(i, 0), rows(i, 1)}, rows(i, 2)});
    return found;
}

py::tuple run(const py::list& paths, const Copies& copies, const Derived& configuration, const py::function& progress,
              uint64_t memory_bytes, const std::optional<Copies>& contents) {
    const TraceList list = list_of(paths, copies);
    const fast_model::Effort effort{memory_bytes, contents_of(contents, list.launches)};
    ListResult result;
    without_gil([&](const auto& asks) {
        const PythonSignals signals;
        const auto goes_on = [&](uint64_t launches, double share) { return asks([&] { progress(launches, share); }); };
        result = fast_model::run_list(configuration.config, list, effort, goes_on);
    });
    return py::make_tuple(columns_of(result), result.failures, result.simulated);
}

py::dict values_of(const Derived& derived) {
    py::dict values;
    for (const auto& [key, value] : derived.config.values()) values[py::str(key)] = value;
    return values;
}

void translate_launch_error(std::exception_ptr pointer) {
    try {
        if (pointer) std::rethrow_exception(pointer);
    } catch (const fast_model::LaunchError& error) {
        set_error("TraceError", error.what());
    }
}

void translate_config_error(std::exception_ptr pointer) {
    try {
        if (pointer) std::rethrow_exception(pointer);
    } catch (const fast_model::ConfigError& error) {
        set_error("ConfigError", error.what());
    }
}

Derived derive(const std::vector<std::pair<std::string, std::string>>& texts, const std::string& base) {
    std::vector<fast_model::ConfigurationText> sources;
    for (const auto& [where, text] : texts) sources.push_back({text, where});
    return fast_model::derive_configuration(sources, base);
}

// (residency, predictor) of SMs that have a model of their own, as a StateInfo has them; else None.
py::object cores_of(const Derived& derived) {
    if (!derived.cores) return py::none();
    const replay::Residency& held = derived.cores->residency;
    const replay::PredictorInfo& predictor = derived.cores->predictor;
    return py::make_tuple(
        py::make_tuple(held.sms, held.ctas_per_sm, held.warps_per_sm, held.registers_per_sm, held.shared_memory_per_sm),
        py::make_tuple(predictor.history_bits, predictor.counter_bits));
}

void register_run(py::module_& part) {
    part.def(
        "run", &run, py::arg("paths"), py::arg("copies"), py::arg("configuration"), py::arg("progress"),
        py::arg("memory_bytes") = fast_model::Effort{}.memory_bytes, py::arg("contents") = py::none(),
        "Simulate launches in order: (counter -> float64 [launches], nan where a launch has no result, [(launch "
        "index, reason of a failure), ...], how many launches had to be simulated). `progress` is called with the "
        "launches that are done and a share of the work, about ten times a second; what it raises ends the run. "
        "The result does not depend on `memory_bytes` for outcomes that may come again, nor on `contents`: of each "
        "launch, as `_native.contents` gives them; launches of equal contents are simulated once.");
}

}  // namespace

void register_fast_model(py::module_& module) {
    py::register_exception_translator(translate_config_error);
    py::register_exception_translator(translate_launch_error);
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
    part.def(
        "derive", &derive, py::arg("texts"), py::arg("base"),
        "A Configuration from [(where, text), ...] of one simulator; what they leave open is as in the file `base`.");
    register_run(part);
    register_launches(part);
}

}  // namespace kernelpoint
