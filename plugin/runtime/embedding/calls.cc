// Each function of abi.h as a call of kernelpoint.session.boundary.
#include <pybind11/stl.h>
#include <signal.h>

#include <tuple>

#include "kernelpoint/printable.hpp"
#include "runtime/embedding/call.h"

namespace py = pybind11;

namespace kernelpoint::embedding {
namespace {

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

kp_status open_session(const char* config_path, const kp_host_info* info, kp_session** opened) {
    if (const kp_status status = check_caller()) return status;
    Inside inside;
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

// While a session opens, Python holds SIGINT, so that planning can be ended. A simulator that was interrupted then gets
// its signal afterwards, and does with it what it does with any.
kp_status open(const char* config_path, const kp_host_info* info, kp_session** opened) {
    was_interrupted();
    const kp_status status = open_session(config_path, info, opened);
    if (was_interrupted()) {
        const std::string line = std::string("kernelpoint: ") + kInterrupted;
        if (info->log != nullptr)
            info->log(info->log_user, line.c_str());
        else
            write_lines(nullptr, line);
        raise(SIGINT);
    }
    return status;
}

kp_status on_launch(kp_session* session, const kp_launch* launch, kp_decision* decision) {
    return call(session, [&] {
        const py::object returned =
            invoke(session, "on_launch", number(launch->process), number(launch->index), path(launch->trace_path));
        const auto [action, pass, interval, state, uncounted, latency] = integers<6>("on_launch", returned);
        *decision = {sizeof(kp_decision),           static_cast<uint32_t>(action),
                     static_cast<uint32_t>(pass),   static_cast<uint32_t>(interval),
                     static_cast<uint32_t>(state),  static_cast<uint32_t>(uncounted),
                     static_cast<uint32_t>(latency)};
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
        const py::object replayed = invoke(session, "replay_before", number(process), number(index));
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
        const py::object returned = invoke(session, "next", number(process), position(after));
        const auto [state, launch] = integers<2>("next", returned);
        answer = state;
        if (state == KP_OK) *index = static_cast<uint64_t>(launch);
    });
    return status != KP_OK ? status : static_cast<kp_status>(answer);
}

kp_status on_progress(kp_session* session, const kp_progress* progress, uint32_t* action) {
    return call(session, [&] {
        const py::object returned =
            invoke(session, "on_progress", number(progress->process), number(progress->index), number(progress->cycles),
                   number(progress->instructions), number(progress->ctas_issued), number(progress->ctas_completed),
                   number(progress->ctas_total));
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
        invoke(session, "on_complete", number(result->process), number(result->index),
               py::bool_((result->flags & KP_RESULT_STOPPED) != 0), number(result->cycles),
               number(result->instructions), session->counter_tuple, values);
    });
}

kp_status on_abort(kp_session* session, uint32_t process, uint64_t index, const char* reason) {
    return call(session, [&] { invoke(session, "on_abort", number(process), number(index), text(reason)); });
}

kp_status launch_estimate(kp_session* session, uint32_t process, uint64_t index, kp_cost* cost) {
    return call(session, [&] {
        const py::object returned = invoke(session, "launch_estimate", number(process), number(index));
        const auto [cycles, instructions, simulated, counters] =
            returned.cast<std::tuple<double, double, bool, std::vector<double>>>();
        session->launch_counters = counters;
        *cost = {sizeof(kp_cost),
                 simulated ? uint32_t{KP_COST_SIMULATED} : 0,
                 cycles,
                 instructions,
                 static_cast<uint32_t>(counters.size()),
                 counters.empty() ? nullptr : session->launch_counters.data()};
    });
}

kp_status launch_name(kp_session* session, uint32_t process, uint64_t index, const char** name) {
    return call(session, [&] {
        const py::object returned = invoke(session, "launch_name", number(process), number(index));
        if (returned.is_none()) return;
        *name = session->keep(printable(utf8(returned)));
    });
}

// Hand over a last printed line that has no end yet.
void flush_streams() {
    const py::module_ sys = py::module_::import("sys");
    for (const char* stream : {"stdout", "stderr"}) sys.attr(stream).attr("flush")();
}

kp_status finish(kp_session* session, kp_summary* summary) {
    HostSignals signals;
    return call(session, [&] {
        take_summary(*session, invoke(session, "finish"), summary);
        flush_streams();
    });
}

const kp_embedding kFunctions = {open,        on_launch,       next,        on_progress, on_complete,
                                 on_abort,    launch_estimate, launch_name, finish,      process_summary,
                                 estimate_at, replay_before};

}  // namespace

}  // namespace kernelpoint::embedding

extern "C" __attribute__((visibility("default"))) const kp_embedding* kp_embedding_start(uint32_t version,
                                                                                         kp_set_error_fn set_error) {
    if (version != KP_EMBEDDING_VERSION) return nullptr;
    kernelpoint::embedding::g_set_error = set_error;
    return &kernelpoint::embedding::kFunctions;
}
