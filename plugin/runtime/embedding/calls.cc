// Each function of abi.h as a call of kernelpoint.session.boundary.
#include <pybind11/stl.h>

#include <tuple>

#include "runtime/embedding/call.h"
#include "runtime/embedding/embedding.h"
#include "runtime/embedding/stack.h"

namespace py = pybind11;

namespace kernelpoint::embedding {
namespace {

kp_set_error_fn g_set_error = nullptr;

// Names of the session's methods, made once.
struct Methods {
    PyObject* on_launch = PyUnicode_InternFromString("on_launch");
    PyObject* replay_before = PyUnicode_InternFromString("replay_before");
    PyObject* next = PyUnicode_InternFromString("next");
    PyObject* on_progress = PyUnicode_InternFromString("on_progress");
    PyObject* on_complete = PyUnicode_InternFromString("on_complete");
    PyObject* on_abort = PyUnicode_InternFromString("on_abort");
    PyObject* launch_estimate = PyUnicode_InternFromString("launch_estimate");
    PyObject* launch_name = PyUnicode_InternFromString("launch_name");
    PyObject* finish = PyUnicode_InternFromString("finish");
};

const Methods& methods() {
    static const Methods* names = new Methods;
    return *names;
}

py::object known_text(const char* bytes) {
    return text(bytes != nullptr ? bytes : "");
}

py::object counter_names(const kp_host_info& info) {
    if (!(info.flags & KP_HOST_NAMES_COUNTERS)) return py::none();
    py::list names;
    for (uint32_t i = 0; i < info.counter_count; ++i) names.append(text(info.counter_names[i]));
    return names;
}

py::dict host_dictionary(const kp_host_info& info) {
    py::list paths, counts;
    for (uint32_t process = 0; process < info.process_count; ++process) {
        paths.append(path(info.list_paths != nullptr ? info.list_paths[process] : nullptr));
        counts.append(number(info.launch_counts != nullptr ? info.launch_counts[process] : 0));
    }
    py::dict fields;
    fields["simulator"] = known_text(info.simulator);
    fields["version"] = known_text(info.version);
    fields["config_hash"] = known_text(info.config_hash);
    fields["concurrent"] = py::bool_((info.flags & KP_HOST_CONCURRENT) != 0);
    fields["can_stop"] = py::bool_((info.flags & KP_HOST_CAN_STOP) != 0);
    fields["copies_fill"] = py::bool_((info.flags & KP_HOST_COPIES_FILL) != 0);
    fields["counts_ctas"] = py::bool_((info.flags & KP_HOST_COUNTS_CTAS) != 0);
    fields["keeps_l1"] = py::bool_((info.flags & KP_HOST_KEEPS_L1) != 0);
    fields["needs_whole_traces"] = py::bool_((info.flags & KP_HOST_NEEDS_WHOLE_TRACES) != 0);
    fields["state_lines"] = number(info.state_lines);
    fields["predictor"] = py::make_tuple(number(info.predictor_history_bits), number(info.predictor_counter_bits));
    fields["residency"] =
        py::make_tuple(info.sms, info.ctas_per_sm, info.warps_per_sm, info.registers_per_sm, info.shared_memory_per_sm);
    fields["process_count"] = number(info.process_count);
    fields["counter_names"] = counter_names(info);
    fields["list_paths"] = paths;
    fields["launch_counts"] = counts;
    fields["configuration"] = known_text(info.configuration);
    return fields;
}

py::object log_of(const kp_session* session) {
    return py::cpp_function([session](py::object line) { write_lines(session, utf8(py::str(line))); });
}

kp_status start(const kp_session* session) {
    Current current(session);
    try {
        start_python();
        return KP_OK;
    } catch (const Failure& failure) {
        return report(failure);
    } catch (const std::exception& error) {
        return report(Failure(KP_EVERSION, error.what()));
    }
}

kp_status open(const char* config_path, const kp_host_info* info, kp_session** opened) {
    if (const kp_status status = check_caller()) return status;
    HostState host;
    HostSignals signals;
    auto* session = new kp_session;  // leaked where opening fails: Python may still hold its log
    session->log = info->log;
    session->log_user = info->log_user;
    if (const kp_status status = start(session)) return status;
    SessionLock lock(session);
    Current current(session);
    return in_python(KP_ECONFIG, [&] {
        session->object = boundary_open()(path(config_path), host_dictionary(*info), log_of(session));
        *opened = session;
    });
}

kp_status on_launch(kp_session* session, const kp_launch* launch, kp_decision* decision) {
    return call(session, [&] {
        const py::object returned = invoke(session, methods().on_launch, number(launch->process), number(launch->index),
                                           path(launch->trace_path));
        const auto [action, pass, interval, state, uncounted] = integers<5>("on_launch", returned);
        *decision = {sizeof(kp_decision),          static_cast<uint32_t>(action),
                     static_cast<uint32_t>(pass),  static_cast<uint32_t>(interval),
                     static_cast<uint32_t>(state), static_cast<uint32_t>(uncounted)};
    });
}

void set_predictors(kp_session* session, const py::object& replayed, kp_replay* replay) {
    session->predictor_arrays = py::make_tuple(replayed.attr("counters"), replayed.attr("histories"));
    const py::buffer_info counters = py::buffer(replayed.attr("counters")).request();
    const py::buffer_info histories = py::buffer(replayed.attr("histories")).request();
    const auto count = static_cast<size_t>(histories.size);
    const size_t each = count == 0 ? 0 : static_cast<size_t>(counters.size) / count;
    session->predictors.clear();
    for (size_t sm = 0; sm < count; ++sm)
        session->predictors.push_back({static_cast<const uint32_t*>(histories.ptr)[sm], static_cast<uint32_t>(each),
                                       static_cast<const uint8_t*>(counters.ptr) + sm * each});
    replay->predictor_count = count;
    replay->predictors = session->predictors.data();
}

kp_status replay_before(kp_session* session, uint32_t process, uint64_t index, kp_replay* replay) {
    return call(session, [&] {
        const py::object replayed = invoke(session, methods().replay_before, number(process), number(index));
        session->touches = replayed.attr("touches");
        const py::buffer_info touches = py::buffer(session->touches).request();
        replay->flags = replayed.attr("covered").cast<bool>() ? KP_REPLAY_COVERED : 0;
        replay->launches = replayed.attr("launches").cast<uint64_t>();
        replay->unreadable = replayed.attr("unreadable").cast<uint64_t>();
        replay->earlier_ctas = replayed.attr("earlier_ctas").cast<uint64_t>();
        replay->touch_count = static_cast<uint64_t>(touches.size * touches.itemsize) / sizeof(kp_touch);
        replay->touches = static_cast<const kp_touch*>(touches.ptr);
        set_predictors(session, replayed, replay);
        session->grids = replayed.attr("grids");
        const py::buffer_info grids = py::buffer(session->grids).request();
        replay->grid_count = static_cast<uint64_t>(grids.size);
        replay->grids = static_cast<const kp_grid*>(grids.ptr);
    });
}

py::object position(uint64_t after) {
    if (after == KP_BEFORE_FIRST) return py::int_(-1);
    if (after == KP_END_OF_LIST) return py::int_(-2);
    return number(after);
}

kp_status next(kp_session* session, uint32_t process, uint64_t after, uint64_t* index) {
    long long answer = KP_OK;
    const kp_status status = call(session, [&] {
        const py::object returned = invoke(session, methods().next, number(process), position(after));
        const auto [state, launch] = integers<2>("next", returned);
        answer = state;
        if (state == KP_OK) *index = static_cast<uint64_t>(launch);
    });
    return status != KP_OK ? status : static_cast<kp_status>(answer);
}

kp_status on_progress(kp_session* session, const kp_progress* progress, uint32_t* action) {
    return call(session, [&] {
        const py::object returned =
            invoke(session, methods().on_progress, number(progress->process), number(progress->index),
                   number(progress->cycles), number(progress->instructions), number(progress->ctas_issued),
                   number(progress->ctas_completed), number(progress->ctas_total));
        *action = returned.cast<uint32_t>();
    });
}

bool same_names(const kp_session& session, const kp_result& result) {
    if (!session.counter_tuple || session.counter_names.size() != result.counter_count) return false;
    for (uint32_t i = 0; i < result.counter_count; ++i)
        if (session.counter_names[i] != result.counters[i].name) return false;
    return true;
}

void remember_names(kp_session& session, const kp_result& result) {
    py::tuple names(result.counter_count);
    session.counter_names.clear();
    for (uint32_t i = 0; i < result.counter_count; ++i) {
        names[i] = text(result.counters[i].name);
        session.counter_names.emplace_back(result.counters[i].name);
    }
    session.counter_tuple = names;
}

kp_status on_complete(kp_session* session, const kp_result* result) {
    return call(session, [&] {
        if (!same_names(*session, *result)) remember_names(*session, *result);
        py::tuple values(result->counter_count);
        for (uint32_t i = 0; i < result->counter_count; ++i) values[i] = py::float_(result->counters[i].value);
        invoke(session, methods().on_complete, number(result->process), number(result->index),
               py::bool_((result->flags & KP_RESULT_STOPPED) != 0), number(result->cycles),
               number(result->instructions), session->counter_tuple, values);
    });
}

kp_status on_abort(kp_session* session, uint32_t process, uint64_t index, const char* reason) {
    return call(session, [&] { invoke(session, methods().on_abort, number(process), number(index), text(reason)); });
}

kp_status launch_estimate(kp_session* session, uint32_t process, uint64_t index, kp_cost* cost) {
    return call(session, [&] {
        const py::object returned = invoke(session, methods().launch_estimate, number(process), number(index));
        const auto [cycles, instructions, simulated] = returned.cast<std::tuple<double, double, bool>>();
        *cost = {sizeof(kp_cost), simulated ? uint32_t{KP_COST_SIMULATED} : 0, cycles, instructions};
    });
}

kp_status launch_name(kp_session* session, uint32_t process, uint64_t index, const char** name) {
    return call(session, [&] {
        const py::object returned = invoke(session, methods().launch_name, number(process), number(index));
        if (returned.is_none()) return;
        *name = session->keep(utf8(returned));
    });
}

// Rows of (name, estimate, half-width, simulated).
void add_estimates(kp_session& session, const py::iterable& rows, uint32_t flags, std::vector<kp_estimate>& estimates) {
    for (py::handle row : rows) {
        const auto [name, estimate, half_width, simulated] = row.cast<std::tuple<py::object, double, double, double>>();
        estimates.push_back({sizeof(kp_estimate), flags, session.keep(utf8(name)), estimate, half_width, simulated});
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

// From the summary that session.finish() returned; its attributes have the names of kp_summary's fields.
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

// Hand over a last printed line that has no end yet.
void flush_streams() {
    const py::module_ sys = py::module_::import("sys");
    for (const char* stream : {"stdout", "stderr"}) sys.attr(stream).attr("flush")();
}

kp_status finish(kp_session* session, kp_summary* summary) {
    HostSignals signals;
    return call(session, [&] {
        take_summary(*session, invoke(session, methods().finish), summary);
        flush_streams();
    });
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

const kp_embedding kFunctions = {open,        on_launch,       next,        on_progress, on_complete,
                                 on_abort,    launch_estimate, launch_name, finish,      process_summary,
                                 estimate_at, replay_before};

}  // namespace

kp_status report(const Failure& failure) {
    g_set_error(failure.what());
    return failure.status;
}

kp_status check_caller() {
    if (t_current_session != nullptr)
        return report(Failure(KP_EINVAL, "the plugin was called from inside the host's log function"));
    try {
        check_stack();
        return KP_OK;
    } catch (const Failure& failure) {
        return report(failure);
    }
}

}  // namespace kernelpoint::embedding

extern "C" __attribute__((visibility("default"))) const kp_embedding* kp_embedding_start(uint32_t version,
                                                                                         kp_set_error_fn set_error) {
    if (version != KP_EMBEDDING_VERSION) return nullptr;
    kernelpoint::embedding::g_set_error = set_error;
    return &kernelpoint::embedding::kFunctions;
}
