#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <vector>

#include "kernelpoint/printable.hpp"
#include "runtime/embedding/call.h"

namespace py = pybind11;

namespace kernelpoint::embedding {
namespace {

// Rows of (name, flags besides these, estimate, half-width, simulated).
void add_estimates(kp_session& session, const py::iterable& rows, uint32_t flags, std::vector<kp_estimate>& estimates) {
    for (py::handle row : rows) {
        const auto [name, own, estimate, half_width, simulated] =
            row.cast<std::tuple<py::object, uint32_t, double, double, double>>();
        estimates.push_back(
            {sizeof(kp_estimate), flags | own, session.keep(printable(utf8(name))), estimate, half_width, simulated});
    }
}

// A process without a statement of its own has that of the run.
void add_process(kp_session& session, const py::handle& row) {
    const auto [process, launches, simulated, estimates] =
        row.cast<std::tuple<size_t, uint64_t, uint64_t, py::iterable>>();
    if (process + 1 != session.finished.size())
        throw Failure(KP_EFAILED, "session.finish().processes: entry " + std::to_string(session.finished.size() - 1) +
                                      " is of process " + std::to_string(process));
    kp_summary summary = session.finished[0].summary;
    summary.launches = launches;
    summary.simulated = simulated;
    summary.skipped = launches - simulated;
    session.finished.push_back({summary, {}});
    add_estimates(session, estimates, 0, session.finished.back().estimates);
}

// Results of the run or of one process; NULL with the status of the refusal where there are none.
const kp_session::Finished* results_of(kp_session* session, uint32_t process, kp_status* status) {
    *status = KP_OK;
    const uint64_t place = process == KP_ALL_PROCESSES ? 0 : uint64_t{process} + 1;
    if (session->finished.empty())
        *status = report(Failure(KP_EINVAL, "results were asked for before the run was finished"));
    else if (place >= session->finished.size())
        *status = report(Failure(KP_EINVAL, "process: got " + std::to_string(process) + "; there are " +
                                                std::to_string(session->finished.size() - 1)));
    return *status == KP_OK ? &session->finished[place] : nullptr;
}

}  // namespace

void take_summary(kp_session& session, const py::object& found) {
    kp_summary summary{};
    summary.flags = found.attr("flags").cast<uint32_t>();
    summary.launches = found.attr("launches").cast<uint64_t>();
    summary.simulated = found.attr("simulated").cast<uint64_t>();
    summary.skipped = found.attr("skipped").cast<uint64_t>();
    summary.projected = found.attr("projected").cast<uint64_t>();
    summary.passes = found.attr("passes").cast<uint64_t>();
    summary.confidence = found.attr("confidence").cast<double>();
    summary.cycle_speedup = found.attr("cycle_speedup").cast<double>();
    summary.saved_seconds = found.attr("saved_seconds").cast<double>();
    session.finished.assign(1, {summary, {}});
    add_estimates(session, found.attr("estimates"), 0, session.finished[0].estimates);
    add_estimates(session, found.attr("ratios"), KP_ESTIMATE_RATIO, session.finished[0].estimates);
    for (py::handle row : py::iterable(found.attr("processes"))) add_process(session, row);
}

kp_status summary_of(kp_session* session, uint32_t process, kp_summary* summary) {
    kp_status status;
    if (const auto* results = results_of(session, process, &status)) *summary = results->summary;
    return status;
}

kp_status estimate(kp_session* session, uint32_t process, uint32_t index, kp_estimate* estimate) {
    if (const kp_status status = check_caller()) return status;
    SessionLock lock(session);
    kp_status status;
    const auto* results = results_of(session, process, &status);
    if (results == nullptr) return status;
    if (index >= results->estimates.size()) return KP_DONE;
    *estimate = results->estimates[index];
    return KP_OK;
}

}  // namespace kernelpoint::embedding
