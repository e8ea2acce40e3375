// Each function of abi.h and state.h as a call of kernelpoint.session.boundary; `unpack` is one of kernelpoint.packs.
#include <pybind11/stl.h>
#include <signal.h>

#include <cstring>
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

template <typename Body>
kp_status started(kp_session* session, Body body) {
    if (const kp_status status = check_caller()) return status;
    Inside inside;
    HostState host;
    HostSignals signals;
    if (const kp_status status = start(session)) return status;
    SessionLock lock(session);
    Current current(session);
    return in_python(KP_ECONFIG, body);
}

// Starts Python unless it runs, and runs `body` in it. Python handles SIGINT meanwhile, so that a user can end
// unpacking and planning. After `body`, a SIGINT that came is raised again for the simulator's own handler.
template <typename Body>
kp_status interruptible(kp_session* session, Body body) {
    was_interrupted();
    const kp_status status = started(session, body);
    if (was_interrupted()) {
        write_lines(session, std::string("kernelpoint: ") + kInterrupted);
        raise(SIGINT);
    }
    return status;
}

kp_status open(const char* config_path, const kp_host* info, const kp_kept* kept, kp_session** opened) {
    auto* session = new kp_session;  // leaked where opening fails: Python may still hold its log
    session->log = info->log;
    session->log_user = info->log_user;
    return interruptible(session, [&] {
        const py::dict fields = host_dictionary(*info, kept);
        session->counter_names = py::tuple(fields["counter_names"]);
        session->object = boundary_open()(path(config_path), fields, log_of(session));
        *opened = session;
    });
}

kp_status unpack(const char* pack, const char** list) {
    auto* session = new kp_session;  // leaked: the path lives in it
    return interruptible(session, [&] {
        const py::module_ packs = py::module_::import("kernelpoint.packs.unpack");
        const py::object listed = packs.attr("unpack_for_simulator")(path(pack), log_of(session));
        *list = session->keep(py::bytes(py::module_::import("os").attr("fsencode")(listed)));
    });
}

// An array of a Replayed as the host knows its elements, which may be larger than the plugin's.
template <typename Element>
const Element* elements(const py::buffer_info& array, uint32_t size, std::string& larger) {
    if (size == sizeof(Element)) return static_cast<const Element*>(array.ptr);
    const auto count = static_cast<size_t>(array.size);
    larger.assign(count * size, 0);
    for (size_t i = 0; i < count; ++i)
        std::memcpy(&larger[i * size], static_cast<const Element*>(array.ptr) + i, sizeof(Element));
    return reinterpret_cast<const Element*>(larger.data());
}

kp_status before(kp_session* session, uint32_t process, uint64_t index, kp_replay* replay) {
    return call(session, [&] {
        const py::object replayed = invoke(session, "replay_before", number(process), number(index));
        session->touches = replayed.attr("touches");
        session->grids = replayed.attr("grids");
        session->bytes = replayed.attr("state_bytes");
        const py::buffer_info touches = py::buffer(session->touches).request();
        const py::buffer_info grids = py::buffer(session->grids).request();
        const py::buffer_info bytes = py::buffer(session->bytes).request();
        replay->flags = replayed.attr("covered").cast<bool>() ? KP_REPLAY_COVERED : 0;
        replay->launches = replayed.attr("launches").cast<uint64_t>();
        replay->unreadable = replayed.attr("unreadable").cast<uint64_t>();
        replay->earlier_ctas = replayed.attr("earlier_ctas").cast<uint64_t>();
        replay->touch_count = static_cast<uint64_t>(touches.size);
        replay->touches = elements<kp_touch>(touches, replay->touch_size, session->larger_touches);
        replay->grid_count = static_cast<uint64_t>(grids.size);
        replay->grids = elements<kp_grid>(grids, replay->grid_size, session->larger_grids);
        replay->byte_count = static_cast<uint64_t>(bytes.size);
        replay->bytes = bytes.ptr;
    });
}

py::object place(uint64_t after) {
    if (after == KP_BEFORE_FIRST) return py::int_(-1);
    if (after == KP_END_OF_LIST) return py::int_(-2);
    return number(after);
}

// The next launch of a process, and the decision on it.
kp_status next(kp_session* session, const kp_position* position, kp_order* order) {
    long long answer = KP_OK;
    const kp_status status = call(session, [&] {
        const py::object process = number(position->process);
        const auto [state, launch] = integers<2>("next", invoke(session, "next", process, place(position->after)));
        answer = state;
        if (state != KP_OK) return;
        const auto index = static_cast<uint64_t>(launch);
        const char* trace = index == position->after + 1 ? position->trace_path : nullptr;
        const auto [action, pass, interval, restores, uncounted, skips_latency] =
            integers<6>("on_launch", invoke(session, "on_launch", process, number(index), path(trace)));
        *order = {sizeof(kp_order),
                  static_cast<uint32_t>(action),
                  index,
                  static_cast<uint32_t>(pass),
                  0,
                  static_cast<uint32_t>(interval)};
        if (restores != 0) order->flags |= KP_ORDER_RESTORE;
        if (uncounted != 0) order->flags |= KP_ORDER_UNCOUNTED;
        if (skips_latency != 0) order->flags |= KP_ORDER_SKIP_LATENCY;
    });
    return status != KP_OK ? status : static_cast<kp_status>(answer);
}

kp_status progress(kp_session* session, const kp_progress* at, uint32_t* action) {
    return call(session, [&] {
        const py::object returned = invoke(session, "on_progress", number(at->process), number(at->index),
                                           number(at->cycles), number(at->instructions), number(at->ctas_issued),
                                           number(at->ctas_completed), number(at->ctas_total));
        *action = returned.cast<uint32_t>();
    });
}

kp_status complete(kp_session* session, const kp_result* result) {
    return call(session, [&] {
        const size_t count = session->counter_names.size();
        if (result->counter_count != count)
            throw Failure(KP_EINVAL, "result.counter_count is " + std::to_string(result->counter_count) +
                                         ", host.counter_count is " + std::to_string(count) +
                                         ": every result has the counters that the host named");
        py::tuple values(count);
        for (size_t i = 0; i < count; ++i) values[i] = py::float_(result->counters[i]);
        invoke(session, "on_complete", number(result->process), number(result->index),
               py::bool_((result->flags & KP_RESULT_STOPPED) != 0), number(result->cycles),
               number(result->instructions), session->counter_names, values);
    });
}

kp_status abort(kp_session* session, uint32_t process, uint64_t index, const char* reason) {
    return call(session, [&] { invoke(session, "on_abort", number(process), number(index), text(reason)); });
}

kp_status cost(kp_session* session, uint32_t process, uint64_t index, kp_cost* cost) {
    return call(session, [&] {
        const py::object returned = invoke(session, "launch_estimate", number(process), number(index));
        const auto [cycles, instructions, simulated, counters] =
            returned.cast<std::tuple<double, double, bool, std::vector<double>>>();
        session->launch_counters = counters;
        const py::object kernel = invoke(session, "launch_name", number(process), number(index));
        *cost = {sizeof(kp_cost),
                 simulated ? uint32_t{KP_COST_SIMULATED} : 0,
                 cycles,
                 instructions,
                 counters.size(),
                 counters.empty() ? nullptr : session->launch_counters.data(),
                 kernel.is_none() ? nullptr : session->keep(printable(utf8(kernel)))};
    });
}

// Hand over a last printed line that has no end yet.
void flush_streams() {
    const py::module_ sys = py::module_::import("sys");
    for (const char* stream : {"stdout", "stderr"}) sys.attr(stream).attr("flush")();
}

kp_status finish(kp_session* session, uint32_t process, kp_summary* summary) {
    HostSignals signals;
    kp_status found = KP_OK;
    const kp_status status = call(session, [&] {
        if (process == KP_ALL_PROCESSES) {
            take_summary(*session, invoke(session, "finish"));
            flush_streams();
        }
        found = summary_of(session, process, summary);
    });
    return status != KP_OK ? status : found;
}

const kp_embedding kFunctions = {open, next, complete, abort, finish, estimate, progress, cost, unpack, before};

}  // namespace

}  // namespace kernelpoint::embedding

extern "C" __attribute__((visibility("default"))) const kp_embedding* kp_embedding_start(uint32_t version,
                                                                                         kp_set_error_fn set_error,
                                                                                         const char* python,
                                                                                         const char* python_version) {
    if (version != KP_EMBEDDING_VERSION) return nullptr;
    kernelpoint::embedding::g_set_error = set_error;
    kernelpoint::embedding::g_python = {python, python_version};
    return &kernelpoint::embedding::kFunctions;
}
