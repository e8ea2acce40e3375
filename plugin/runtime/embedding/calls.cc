// Each function of abi.h as a call of kernelpoint.session.boundary.
#include "runtime/embedding/call.h"
#include "runtime/embedding/embedding.h"

namespace py = pybind11;

namespace kernelpoint::embedding {
namespace {

kp_set_error_fn g_set_error = nullptr;

// Names of the session's methods, made once.
struct Methods {
    PyObject* on_launch = PyUnicode_InternFromString("on_launch");
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

py::object triple(const uint32_t (&values)[3]) {
    return py::make_tuple(number(values[0]), number(values[1]), number(values[2]));
}

py::object known_text(const char* bytes) {
    return text(bytes != nullptr ? bytes : "");
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
    fields["process_count"] = number(info.process_count);
    fields["list_paths"] = paths;
    fields["launch_counts"] = counts;
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
    if (t_current_session != nullptr)
        return report(Failure(KP_EINVAL, "kp_open was called from inside the host's log function"));
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
        const py::object returned =
            invoke(session, methods().on_launch, number(launch->process), number(launch->index),
                   path(launch->trace_path), text(launch->kernel_name), triple(launch->grid), triple(launch->block),
                   number(launch->registers), number(launch->shared_memory));
        const auto [action, pass, interval] = integers<3>("on_launch", returned);
        *decision = {sizeof(kp_decision), static_cast<uint32_t>(action), static_cast<uint32_t>(pass),
                     static_cast<uint32_t>(interval)};
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

kp_status launch_estimate(kp_session* session, uint32_t process, uint64_t index, double* cycles, double* instructions) {
    return call(session, [&] {
        const py::tuple returned = invoke(session, methods().launch_estimate, number(process), number(index));
        *cycles = returned[0].cast<double>();
        *instructions = returned[1].cast<double>();
    });
}

kp_status launch_name(kp_session* session, uint32_t process, uint64_t index, const char** name) {
    return call(session, [&] {
        const py::object returned = invoke(session, methods().launch_name, number(process), number(index));
        if (returned.is_none()) return;
        session->launch_name = utf8(returned);
        *name = session->launch_name.c_str();
    });
}

void fill(std::vector<std::string>& names, std::vector<kp_estimate>& estimates, const py::sequence& rows) {
    names.clear();
    estimates.clear();
    for (py::handle row : rows) {
        const py::tuple fields = py::reinterpret_borrow<py::object>(row);
        names.push_back(utf8(fields[0]));
        estimates.push_back({nullptr, fields[1].cast<double>(), fields[2].cast<double>(), fields[3].cast<double>()});
    }
    for (size_t i = 0; i < estimates.size(); ++i) estimates[i].name = names[i].c_str();
}

void fill_summary(kp_session& session, const py::tuple& fields, kp_summary* summary) {
    fill(session.estimate_names, session.estimates, fields[6]);
    fill(session.ratio_names, session.ratios, fields[7]);
    session.json = utf8(fields[9]);
    summary->size = sizeof(kp_summary);
    summary->flags = fields[0].cast<uint32_t>();
    summary->launches = fields[1].cast<uint64_t>();
    summary->simulated = fields[2].cast<uint64_t>();
    summary->skipped = fields[3].cast<uint64_t>();
    summary->passes = fields[4].cast<uint32_t>();
    summary->confidence = fields[5].cast<double>();
    summary->estimate_count = static_cast<uint32_t>(session.estimates.size());
    summary->estimates = session.estimates.data();
    summary->json = session.json.c_str();
    summary->projected = fields[8].cast<uint64_t>();
    summary->ratios = session.ratios.data();
    summary->ratio_count = static_cast<uint32_t>(session.ratios.size());
}

// Hand over a last printed line that has no end yet.
void flush_streams() {
    const py::module_ sys = py::module_::import("sys");
    for (const char* stream : {"stdout", "stderr"}) sys.attr(stream).attr("flush")();
}

kp_status finish(kp_session* session, kp_summary* summary) {
    HostSignals signals;
    return call(session, [&] {
        const py::tuple fields = invoke(session, methods().finish);
        if (fields.size() != 10)
            throw Failure(KP_EFAILED, "session.finish returned " + std::to_string(fields.size()) + " fields, not 10");
        fill_summary(*session, fields, summary);
        flush_streams();
    });
}

const kp_embedding kFunctions = {open,     on_launch,       next,   on_progress, on_complete,
                                 on_abort, launch_estimate, finish, launch_name};

}  // namespace

kp_status report(const Failure& failure) {
    g_set_error(failure.what());
    return failure.status;
}

}  // namespace kernelpoint::embedding

extern "C" __attribute__((visibility("default"))) const kp_embedding* kp_embedding_start(uint32_t version,
                                                                                         kp_set_error_fn set_error) {
    if (version != KP_EMBEDDING_VERSION) return nullptr;
    kernelpoint::embedding::g_set_error = set_error;
    return &kernelpoint::embedding::kFunctions;
}
