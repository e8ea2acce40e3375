// Single launches by the fast model, for Python: parts of kernelpoint._native.fast_model.
#include <pybind11/stl.h>

#include <cmath>

#include "fast_model/launch_progress.h"
#include "native/bindings/fast_model.h"

namespace py = pybind11;

namespace kernelpoint {
namespace {

using fast_model::Derived;

constexpr fast_model::Cycles kCyclesBetweenSignals = 1000000;

// `touches`: uint64 [n, 4], address, sectors touched, sectors written, and whether it was a copy from the host.
std::vector<replay::Touch> touches_of(const Copies& touches) {
    std::vector<replay::Touch> found;
    const auto rows = touches.unchecked<2>();
    for (py::ssize_t i = 0; i < rows.shape(0); ++i) {
        replay::Touch touch;
        touch.line = rows(i, 0) / replay::kLineBytes;
        touch.touched = static_cast<uint8_t>(rows(i, 1));
        touch.written = static_cast<uint8_t>(rows(i, 2));
        touch.copied = rows(i, 3) != 0;
        found.push_back(touch);
    }
    return found;
}

py::array_t<uint64_t> course(const std::string& path, const Derived& configuration, const Copies& touches,
                             uint64_t interval, uint64_t most_ctas) {
    const std::vector<replay::Touch> before = touches_of(touches);
    fast_model::LaunchProgress progress;
    without_gil([&](const auto& asks) {
        const auto goes_on = [&] { return asks([] {}); };
        progress = fast_model::follow(configuration.config, path, before, interval, most_ctas, goes_on);
    });
    py::array_t<uint64_t> points({static_cast<py::ssize_t>(progress.points.size()), py::ssize_t{4}});
    auto rows = points.mutable_unchecked<2>();
    for (py::ssize_t i = 0; i < rows.shape(0); ++i) {
        const fast_model::Point& point = progress.points[static_cast<size_t>(i)];
        rows(i, 0) = point.cycles;
        rows(i, 1) = point.instructions;
        rows(i, 2) = point.ctas_issued;
        rows(i, 3) = point.ctas_completed;
    }
    return points;
}

py::dict alone(const std::string& path, const Derived& configuration) {
    fast_model::LaunchResult result;
    without_gil([&](const auto& asks) {
        const auto goes_on = [&] { return asks([] {}); };
        result = fast_model::follow(configuration.config, path, {}, kCyclesBetweenSignals, UINT64_MAX, goes_on).result;
    });
    py::dict found;
    found["cycles"] = result.cycles;
    found["instructions"] = result.instructions;
    for (const fast_model::CounterField& field : fast_model::kCounterFields)
        found[field.name] = result.counters.*field.value;
    for (const fast_model::StallField& field : fast_model::kStallFields)
        found[field.name] = result.waited[static_cast<size_t>(field.wait)];
    return found;
}

}  // namespace

void register_launches(py::module_& part) {
    part.def(
        "alone", &alone, py::arg("path"), py::arg("configuration"),
        "Simulate one launch with empty caches: its cycles, instructions, counters, and *_stalls, the cycles of warp "
        "schedulers in which what issues next waited for memory, for another result, at a barrier, for its unit.");
    part.def(
        "course", &course, py::arg("path"), py::arg("configuration"), py::arg("touches"), py::arg("interval"),
        py::arg("most_ctas") = UINT64_MAX,
        "Simulate one launch behind touches of earlier ones (uint64 [n, 4]: address, sectors touched, sectors written, "
        "whether copied): uint64 [points, 4], cycles, thread instructions, CTAs issued and completed, `interval` "
        "cycles "
        "apart and at the end; no more CTAs than `most_ctas`, give or take an interval's.");
}

}  // namespace kernelpoint
