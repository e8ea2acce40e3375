// One call of the host, from C into Python and back: locks, the GIL, the host's state, and no exception beyond.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <exception>
#include <mutex>
#include <string>

#include "runtime/embedding/embedding.h"
#include "runtime/embedding/failure.h"
#include "runtime/embedding/host_state.h"
#include "runtime/embedding/interpreter.h"
#include "runtime/embedding/session.h"

namespace kernelpoint::embedding {

extern kp_set_error_fn g_set_error;

// Sets the message that last_error returns on this thread; returns the status.
kp_status report(const Failure& failure);

// Lock of a session. A waiting thread releases the GIL, so that the thread which has the session can continue.
class SessionLock {
public:
    explicit SessionLock(kp_session* session) : session_(session) {
        if (session->mutex.try_lock()) return;
        PyThreadState* state = PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr;
        session->mutex.lock();
        if (state != nullptr) PyEval_RestoreThread(state);
    }
    ~SessionLock() { session_->mutex.unlock(); }
    SessionLock(const SessionLock&) = delete;
    SessionLock& operator=(const SessionLock&) = delete;

private:
    kp_session* session_;
};

// Marks the session whose call runs on this thread, so that printed text goes to its log.
class Current {
public:
    explicit Current(const kp_session* session) { t_current_session = session; }
    ~Current() { t_current_session = nullptr; }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
};

// Runs `body` with the GIL held and turns exceptions into a status. Python objects that it makes end inside.
//   otherwise  status of exceptions whose class names none
template <typename Body>
kp_status in_python(kp_status otherwise, Body body) {
    Gil gil;
    try {
        body();
        return KP_OK;
    } catch (pybind11::error_already_set& error) {
        return report(from_python(error, otherwise));
    } catch (const Failure& failure) {
        return report(failure);
    } catch (const std::exception& error) {
        return report(Failure(otherwise, error.what()));
    }
}

// Refuses a call from inside the host's log function, on a thread with too little stack, or in a process that was
// forked during a call. Returns KP_OK or the status of the refusal.
kp_status check_caller();

// Counts the running calls, for check_caller in a forked process: the threads of those calls, with the session and the
// GIL, exist in the parent only.
class Inside {
public:
    Inside();
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

// Runs a call on an open session.
template <typename Body>
kp_status call(kp_session* session, Body body) {
    if (const kp_status status = check_caller()) return status;
    Inside inside;
    HostState host;
    SessionLock lock(session);
    Current current(session);
    return in_python(KP_EFAILED, body);
}

// Calls session.<method>(arguments...) in Python.
template <typename... Arguments>
pybind11::object invoke(kp_session* session, const char* method, const Arguments&... arguments) {
    const auto name = pybind11::reinterpret_steal<pybind11::object>(PyUnicode_InternFromString(method));
    PyObject* vector[] = {session->object.ptr(), arguments.ptr()...};
    PyObject* result = PyObject_VectorcallMethod(name.ptr(), vector,
                                                 (1 + sizeof...(arguments)) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    if (result == nullptr) throw pybind11::error_already_set();
    return pybind11::reinterpret_steal<pybind11::object>(result);
}

// Converts the host's description to a Python dict for workload.host_info. `kept`: NULL if the host keeps no state.
pybind11::dict host_dictionary(const kp_host& host, const kp_kept* kept);

// Stores the results of a finished session in C++, so that they can be read without Python. They come from the summary
// that session.finish() returned, whose attributes are named like the fields of kp_summary.
void take_summary(kp_session& session, const pybind11::object& summary);
kp_status summary_of(kp_session* session, uint32_t process, kp_summary* summary);
kp_status estimate(kp_session* session, uint32_t process, uint32_t index, kp_estimate* estimate);

// Converts a C++ number or text to a Python object.
pybind11::object number(uint64_t value);
pybind11::object path(const char* bytes);  // None for NULL; bytes that are no UTF-8 survive the way to open()
pybind11::object text(const char* bytes);  // None for NULL; bytes that are no UTF-8 are replaced

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
    throw Failure(KP_EFAILED, std::string("session.") + method + " returned " + utf8(pybind11::repr(returned)) +
                                  ", expected " + std::to_string(count) + " integers");
}

}  // namespace kernelpoint::embedding
