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

void take_processes(kp_session& session, const py::iterable& rows) {
    session.processes.clear();
    session.process_estimates.clear();
    for (py::handle row : rows) {
        const auto [process, launches, simulated, estimates] =
            row.cast<std::tuple<size_t, uint64_t, uint64_t, py::iterable>>();
        if (process != session.processes.size())
            throw Failure(KP_EFAILED, "session.finish().processes: entry " + std::to_string(session.processes.size()) +
                                          " is of process " + std::to_string(process));
        std::vector<kp_estimate>& own = session.process_estimates.emplace_back();
        add_estimates(session, estimates, 0, own);
        session.processes.push_back(
            {sizeof(kp_process), static_cast<uint32_t>(own.size()), launches, simulated, launches - simulated});
    }
}

// Entry `index` of the results of kp_finish. Asks no Python.
template <typename Found>
kp_status look_up(kp_session* session, const char* what, const std::vector<Found>& all, uint32_t index, Found* found) {
    if (!session->finished) return report(Failure(KP_EINVAL, std::string(what) + " was asked for before kp_finish"));
    if (index >= all.size())
        return report(Failure(KP_EINVAL, std::string(what) + ": got " + std::to_string(index) + "; there are " +
                                             std::to_string(all.size())));
    *found = all[index];
    return KP_OK;
}

}  // namespace

void take_summary(kp_session& session, const py::object& found, kp_summary* summary) {
    session.estimates.clear();
    add_estimates(session, found.attr("estimates"), 0, session.estimates);
    add_estimates(session, found.attr("ratios"), KP_ESTIMATE_RATIO, session.estimates);
    take_processes(session, found.attr("processes"));
    summary->size = sizeof(kp_summary);
    summary->flags = found.attr("flags").cast<uint32_t>();
    summary->launches = found.attr("launches").cast<uint64_t>();
    summary->simulated = found.attr("simulated").cast<uint64_t>();
    summary->skipped = found.attr("skipped").cast<uint64_t>();
    summary->projected = found.attr("projected").cast<uint64_t>();
    summary->passes = found.attr("passes").cast<uint32_t>();
    summary->confidence = found.attr("confidence").cast<double>();
    summary->cycle_speedup = found.attr("cycle_speedup").cast<double>();
    summary->saved_seconds = found.attr("saved_seconds").cast<double>();
    summary->estimate_count = static_cast<uint32_t>(session.estimates.size());
    session.finished = true;
}

kp_status process_summary(kp_session* session, uint32_t process, kp_process* counts) {
    if (const kp_status status = check_caller()) return status;
    SessionLock lock(session);
    return look_up(session, "process", session->processes, process, counts);
}

kp_status estimate_at(kp_session* session, uint32_t process, uint32_t index, kp_estimate* estimate) {
    if (const kp_status status = check_caller()) return status;
    SessionLock lock(session);
    if (process == KP_ALL_PROCESSES) return look_up(session, "estimate", session->estimates, index, estimate);
    kp_process counts;
    if (const kp_status status = look_up(session, "process", session->processes, process, &counts)) return status;
    return look_up(session, "estimate", session->process_estimates[process], index, estimate);
}

}  // namespace kernelpoint::embedding
