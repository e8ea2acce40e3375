// Each function of abi.h and state.h as a call of kernelpoint.session.boundary; `unpack` is one of kernelpoint.packs.
#include <pybind11/stl.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "kernelpoint/printable.hpp"
#include "runtime/embedding/call.h"

namespace kernelpoint::embedding {

namespace py = pybind11;

namespace {

// Reads `count` integers from a tuple that a method of the session returned. Throws Failure if it is anything else.
template <size_t count>
std::array<long long, count> integers(const char* method, const pybind11::object& returned) {
    std::array<long long, count> values;
    bool fits = PyTuple_Check(returned.ptr()) && PyTuple_GET_SIZE(returned.ptr()) == count;
    for (size_t i = 0; fits && i < count; ++i) {
        values[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(returned.ptr(), i));
        fits = PyErr_Occurred() == nullptr;
    }
    if (fits) return values;
    PyErr_Clear();
    throw Failure(KP_EFAILED, std::string("session.") + method + " returned " + utf8(pybind11::repr(returned)) + ", expected " +
                                  std::to_string(count) + " integers");
}

py::object known_text(const char* bytes) {
    return text(bytes != nullptr ? bytes : "");
}

py::list counter_names(const kp_host& host) {
    py::list names;
    for (uint32_t i = 0; i < host.counter_count; ++i) names.append(text(host.counter_names[i]));
    return names;
}

// A description of the host's list, whose elements lie as far apart as the host's size of one says.
kp_description description(const kp_host& host, uint64_t index) {
    const uint32_t size = host.descriptions->size;
    kp_description copy{};
    std::memcpy(&copy, reinterpret_cast<const char*>(host.descriptions) + index * size, std::min<size_t>(size, sizeof(copy)));
    return copy;
}

py::list architectures(const kp_host& host) {
    py::list known;
    for (uint64_t i = 0; i < host.architecture_count; ++i) known.append(number(host.architectures[i]));
    return known;
}

template <typename Number>
py::bytes packed(const std::vector<Number>& numbers) {
    return py::bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}

// Columns of all descriptions, numbers packed, for kernelpoint.workload.host_info; None where there are none.
py::object descriptions(const kp_host& host) {
    if (host.descriptions == nullptr) return py::none();
    uint64_t count = 0;
    for (uint32_t process = 0; process < host.process_count; ++process) count += host.launch_counts[process];
    py::list names;
    std::vector<uint32_t> extents;
    std::vector<int64_t> shapes;
    std::vector<uint64_t> keys;
    std::vector<double> costs, features;
    for (uint64_t i = 0; i < count; ++i) {
        const kp_description one = description(host, i);
        names.append(known_text(one.name));
        extents.push_back(one.shape_count);
        shapes.insert(shapes.end(), one.shape, one.shape + one.shape_count);
        keys.push_back(one.key);
        costs.push_back(one.cost);
        features.insert(features.end(), one.features, one.features + one.feature_count);
    }
    py::dict columns;
    columns["names"] = names;
    columns["extents"] = packed(extents);
    columns["shapes"] = packed(shapes);
    columns["keys"] = packed(keys);
    columns["costs"] = packed(costs);
    columns["features"] = packed(features);
    return columns;
}

// Reads the host's statements of the extension kp_state.
void add_state(const kp_kept& kept, py::dict& fields) {
    fields["restores"] = py::bool_((kept.flags & KP_KEPT_RESTORES) != 0);
    fields["copies_fill"] = py::bool_((kept.flags & KP_KEPT_COPIES_FILL) != 0);
    fields["counts_ctas"] = py::bool_((kept.flags & KP_KEPT_COUNTS_CTAS) != 0);
    fields["keeps_rows"] = py::bool_((kept.flags & KP_KEPT_ROWS) != 0);
    fields["state_lines"] = number(kept.lines);
    fields["residency"] =
        py::make_tuple(kept.sms, kept.ctas_per_sm, kept.warps_per_sm, kept.registers_per_sm, kept.shared_memory_per_sm);
    fields["not_replayed"] = known_text(kept.not_replayed);
    // as text, since a worker sends it on as JSON
    fields["state_bytes"] = py::bytes(static_cast<const char*>(kept.bytes), kept.byte_count).attr("hex")();
}

// Converts the host's description to a Python dict for workload.host_info. `kept`: NULL if the host keeps no state.
py::dict host_dictionary(const kp_host& host, const kp_kept* kept) {
    py::list paths, counts;
    for (uint32_t process = 0; process < host.process_count; ++process) {
        paths.append(path(host.list_paths != nullptr ? host.list_paths[process] : nullptr));
        counts.append(number(host.launch_counts != nullptr ? host.launch_counts[process] : 0));
    }
    const auto has = [&host](uint32_t flag) { return py::bool_((host.flags & flag) != 0); };
    py::dict fields;
    fields["simulator"] = known_text(host.simulator);
    fields["version"] = known_text(host.version);
    fields["config_hash"] = known_text(host.config_hash);
    fields["configuration"] = known_text(host.configuration);
    fields["has_no_traces"] = has(KP_HOST_NO_TRACES);
    fields["stateless"] = has(KP_HOST_STATELESS);
    fields["is_deterministic"] = has(KP_HOST_DETERMINISTIC);
    fields["concurrent"] = has(KP_HOST_CONCURRENT);
    fields["can_stop"] = has(KP_HOST_CAN_STOP);
    fields["executes"] = has(KP_HOST_EXECUTES);
    fields["needs_whole_traces"] = has(KP_HOST_NEEDS_WHOLE_TRACES);
    fields["process_count"] = number(host.process_count);
    fields["list_paths"] = paths;
    fields["launch_counts"] = counts;
    fields["counter_names"] = counter_names(host);
    fields["descriptions"] = descriptions(host);
    fields["architectures"] = architectures(host);
    if (kept != nullptr) add_state(*kept, fields);
    return fields;
}

// Rows of (name, flags besides these, estimate, half-width, simulated, limit).
void add_estimates(kp_session& session, const py::iterable& rows, uint32_t flags, std::vector<kp_estimate>& estimates) {
    for (py::handle row : rows) {
        const auto [name, own, estimate, half_width, simulated, at_most] =
            row.cast<std::tuple<py::object, uint32_t, double, double, double, double>>();
        const char* text = session.keep(printable(utf8(name)));
        estimates.push_back({sizeof(kp_estimate), flags | own, text, estimate, half_width, simulated, at_most});
    }
}

// A process without a statement of its own has that of the run.
void add_process(kp_session& session, const py::handle& row) {
    const auto [process, launches, simulated, estimates] = row.cast<std::tuple<size_t, uint64_t, uint64_t, py::iterable>>();
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

// Results of the run or of one process. Throws Failure where there are none.
const kp_session::Finished& results_of(const kp_session* session, uint32_t process) {
    if (session->finished.empty()) throw Failure(KP_EINVAL, "results were asked for before the run was finished");
    const uint64_t place = process == KP_ALL_PROCESSES ? 0 : uint64_t{process} + 1;
    if (place < session->finished.size()) return session->finished[place];
    throw Failure(KP_EINVAL,
                  "process: got " + std::to_string(process) + "; there are " + std::to_string(session->finished.size() - 1));
}

// Stores the results of a finished session in C++, so that they can be read without Python. They come from the summary
// that session.finish() returned, whose attributes are named like the fields of kp_summary.
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

kp_status estimate(kp_session* session, uint32_t process, uint32_t index, kp_estimate* estimate) {
    if (const kp_status status = check_caller()) return status;
    SessionLock lock(session);
    bool is_there = true;
    const kp_status status = attempt(KP_EFAILED, [&] {
        const std::vector<kp_estimate>& estimates = results_of(session, process).estimates;
        is_there = index < estimates.size();
        if (is_there) *estimate = estimates[index];
    });
    return is_there ? status : KP_DONE;
}

py::object log_of(const kp_session* session) {
    return py::cpp_function([session](py::object line) { write_lines(session, utf8(py::str(line))); });
}

template <typename Body>
kp_status started(kp_session* session, Body body) {
    if (const kp_status status = check_caller()) return status;
    Inside inside;
    HostState host;
    HostSignals signals;
    SessionLock lock(session);
    Current current(session);
    if (const kp_status status = attempt(KP_EVERSION, start_python)) return status;
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
        const py::object returned =
            invoke(session, "on_progress", number(at->process), number(at->index), number(at->cycles), number(at->instructions),
                   number(at->ctas_issued), number(at->ctas_completed), number(at->ctas_total));
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
               py::bool_((result->flags & KP_RESULT_STOPPED) != 0), number(result->cycles), number(result->instructions),
               session->counter_names, values);
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
    return call(session, [&] {
        if (process == KP_ALL_PROCESSES) {
            take_summary(*session, invoke(session, "finish"));
            flush_streams();
        }
        *summary = results_of(session, process).summary;
    });
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
