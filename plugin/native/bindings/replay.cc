#include "native/replay/replay.h"

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "kernelpoint/state.h"
#include "native/bindings/bindings.h"

namespace py = pybind11;

namespace kernelpoint {

namespace {

using namespace replay;

static_assert(kLineBytes == KP_LINE_BYTES && kSectorBytes == KP_SECTOR_BYTES, "the host knows the same lines");

kp_touch exported(const Touch& touch) {
    return {touch.line * kLineBytes,
            touch.touched,
            touch.written,
            touch.filled,
            touch.copied,
            touch.sm | static_cast<uint32_t>(touch.path) << 16};
}

kp_grid exported(const Grid& grid) {
    return {grid.ctas, grid.warps, grid.last_warp};
}

template <typename Value>
auto exported(const std::vector<Value>& values) {
    py::array_t<decltype(exported(values[0]))> all(static_cast<py::ssize_t>(values.size()));
    auto* to = all.mutable_data();
    for (const Value& value : values) *to++ = exported(value);
    return all;
}

Residency residency_of(const std::array<uint32_t, 5>& numbers) {
    return {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
}

// `load` returns bytes, or None where the store has none.
FootprintStore store_of(const py::function& load, const py::function& save, const py::function& refuse) {
    FootprintStore store;
    store.load = [load](const std::string& path, std::string& packed) {
        const py::object found = load(path);
        if (found.is_none()) return false;
        packed = found.cast<std::string>();
        return true;
    };
    store.save = [save](const std::string& path, const std::string& packed) { save(path, py::bytes(packed)); };
    store.refuse = [refuse](const std::string& path, const std::string& reason) { refuse(path, reason); };
    return store;
}

// uint8 [SM, counter] and uint32 [SM]; both empty where there are none.
void add_predictors(const std::vector<PredictorState>& predictors, py::dict& fields) {
    const size_t count = predictors.size(), each = count == 0 ? 0 : predictors[0].counters.size();
    py::array_t<uint8_t> counters({count, each});
    py::array_t<uint32_t> histories(static_cast<py::ssize_t>(count));
    for (size_t sm = 0; sm < count; ++sm) {
        const PredictorState& predictor = predictors[sm];
        std::copy(predictor.counters.begin(), predictor.counters.end(), counters.mutable_data(sm, 0));
        histories.mutable_at(static_cast<py::ssize_t>(sm)) = predictor.history;
    }
    fields["counters"] = counters;
    fields["histories"] = histories;
}

py::dict replay_before(Replay& self, uint64_t launch) {
    if (launch >= self.launches()) throw py::index_error("launch " + std::to_string(launch) + " is not in the list");
    const Replayed replayed = self.before(launch);
    py::dict fields;
    fields["touches"] = exported(replayed.touches);
    fields["launches"] = replayed.launches;
    fields["unreadable"] = replayed.unreadable;
    fields["earlier_ctas"] = replayed.earlier_ctas;
    fields["grids"] = exported(replayed.grids);
    fields["covered"] = replayed.covered;
    add_predictors(replayed.predictors, fields);
    return fields;
}

std::vector<uint64_t> lines_left(Replay& self, uint64_t launch, uint64_t most) {
    if (launch >= self.launches()) throw py::index_error("launch " + std::to_string(launch) + " is not in the list");
    return self.lines_left(launch, most);
}

// The touches of one launch, and the bytes that its footprint is kept as.
py::tuple footprint(const std::string& path, const std::array<uint32_t, 5>& residency, bool by_sm) {
    const Footprint found = read_footprint(path, residency_of(residency), by_sm);
    const std::string packed = pack(found);
    Footprint again;
    if (!unpack(packed, again) || again.touches != found.touches || again.grid != found.grid)
        throw std::logic_error("a footprint is not what its bytes say");
    std::vector<Touch> touches;
    for (const LineTouch& touch : found.touches) touches.push_back({touch, false});
    return py::make_tuple(exported(touches), py::bytes(packed));
}

}  // namespace

void register_replay(py::module_& module) {
    PYBIND11_NUMPY_DTYPE(kp_touch, line, touched, written, filled, copied, opaque);
    PYBIND11_NUMPY_DTYPE(kp_grid, ctas, warps, last_warp);
    module.attr("FOOTPRINT_VERSION") = kFootprintVersion;
    module.def("footprint", footprint, py::arg("path"), py::arg("residency"), py::arg("by_sm") = false,
               py::call_guard<PythonSignals>());
    py::class_<Replay>(module, "Replay")
        .def(py::init([](const Numbers<int32_t>& contents, const std::vector<std::string>& paths,
                         const Numbers<uint64_t>& copies, uint64_t lines, const std::array<uint32_t, 5>& residency,
                         bool with_copies, bool counts_ctas, bool first_reads, bool by_sm,
                         const std::array<uint32_t, 2>& predictor, const std::array<uint32_t, 6>& caches,
                         const py::bytes& trained, uint64_t memory, const py::function& load, const py::function& save,
                         const py::function& refuse) {
                 const StateInfo state{lines,
                                       with_copies,
                                       counts_ctas,
                                       first_reads,
                                       {residency_of(residency),
                                        {predictor[0], predictor[1]},
                                        {caches[0], caches[1], caches[2], caches[3], caches[4], caches[5]}},
                                       by_sm,
                                       trained};
                 return std::make_unique<Replay>(launches_of(contents, paths, copies), state, memory,
                                                 store_of(load, save, refuse));
             }),
             py::arg("contents"), py::arg("paths"), py::arg("copies"), py::kw_only(), py::arg("lines"), py::arg("residency"),
             py::arg("with_copies"), py::arg("counts_ctas"), py::arg("first_reads"), py::arg("by_sm"), py::arg("predictor"),
             py::arg("caches"), py::arg("trained"), py::arg("memory"), py::arg("load"), py::arg("save"), py::arg("refuse"))
        .def_property_readonly("memory", &Replay::memory)
        .def("before", replay_before, py::arg("launch"), py::call_guard<PythonSignals>())
        .def("lines_left", lines_left, py::arg("launch"), py::arg("most"), py::call_guard<PythonSignals>());
}

}  // namespace kernelpoint
