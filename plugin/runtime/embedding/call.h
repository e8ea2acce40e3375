// One call of the host, from C into Python and back: locks, the GIL, the host's state, and no exception beyond.
#pragma once

#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <pybind11/pybind11.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

#include "kernelpoint/abi.h"
#include "runtime/embedding/embedding.h"

// A session. It is never freed: a host may end at any time, and Python objects must not be touched then.
struct kp_session {
    std::mutex mutex;
    pybind11::object object;
    kp_log_fn log = nullptr;
    void* log_user = nullptr;
    pybind11::tuple counter_names;  // of every result
    // Results of kp_state.before, the last ones: the arrays, and copies of those whose elements the host knows larger.
    pybind11::object touches, grids, bytes;
    std::string larger_touches, larger_grids;
    // Text that was handed out; it stays where it is.
    std::unordered_set<std::string> texts;
    // Results of `finish`: the summary and the estimates of the run, then those of each process.
    struct Finished {
        kp_summary summary;
        std::vector<kp_estimate> estimates;
    };
    std::vector<Finished> finished;
    // Result of `cost`, the last one.
    std::vector<double> launch_counters;

    const char* keep(const std::string& text) { return texts.insert(text).first->c_str(); }
};

namespace kernelpoint::embedding {

// Passes text to the host's log line by line; to standard error if the host has none.
void write_lines(const kp_session* session, const std::string& text);

// Hand one line that Python code printed to the log of the session whose call is running on this thread; to standard
// error where none is (a thread that Python code started).
void write_line(pybind11::object line);

// The session whose call is running on this thread, or NULL.
extern thread_local const kp_session* t_current_session;

// A failure whose status is already known.
struct Failure : std::runtime_error {
    Failure(kp_status status, const std::string& reason) : std::runtime_error(reason), status(status) {}
    kp_status status;
};

// Loads the exception classes of kernelpoint.errors; called once, with the GIL held.
void load_error_classes();

// Converts a Python exception to a status and a message; the GIL must be held. An error that a user can cause gives
// its message; any other is a defect and gives its type and the innermost lines of its traceback.
//   otherwise  status where the class of the exception names none
Failure from_python(pybind11::error_already_set& error, kp_status otherwise);

constexpr const char* kInterrupted = "interrupted; the same command goes on";

// True if a failure of this thread, since the last call, was a SIGINT that Python received before the host.
bool was_interrupted();

// Converts a Python string to UTF-8; characters that are not text become escapes. The GIL must be held.
std::string utf8(pybind11::handle text);

// Base of what undoes in its destructor what its constructor did.
struct Scope {
    Scope() = default;
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
};

constexpr int kLastSignal = 64;

// Saves and restores locale, floating-point environment and errno. Inside, the floating-point environment is the
// default one, so that the host's traps or flushing of denormals change no decision.
class HostState : Scope {
public:
    HostState() : errno_(errno), locale_(setlocale(LC_ALL, nullptr)) {
        fegetenv(&floating_point_);
        fesetenv(FE_DFL_ENV);
    }
    ~HostState() {
        fesetenv(&floating_point_);
        if (locale_ != setlocale(LC_ALL, nullptr)) setlocale(LC_ALL, locale_.c_str());
        errno = errno_;
    }

private:
    int errno_;
    fenv_t floating_point_;
    std::string locale_;
};

// Saves and restores all signal dispositions, around open and finish only. In between nothing changes them, because
// our interpreter refuses signal.signal().
class HostSignals : Scope {
public:
    HostSignals() : actions_{} {
        for (int number = 1; number <= kLastSignal; ++number)
            if (sigaction(number, nullptr, &actions_[number]) != 0) actions_[number].sa_flags = -1;
    }
    ~HostSignals() {
        for (int number = 1; number <= kLastSignal; ++number) {
            struct sigaction now = {};
            if (actions_[number].sa_flags == -1 || sigaction(number, nullptr, &now) != 0) continue;
            if (!same(now, actions_[number])) sigaction(number, &actions_[number], nullptr);
        }
    }

private:
    static bool same(const struct sigaction& one, const struct sigaction& other) {
        if (one.sa_handler != other.sa_handler || one.sa_flags != other.sa_flags) return false;
        for (int number = 1; number <= kLastSignal; ++number)  // beyond it the C library leaves whatever was there
            if (sigismember(&one.sa_mask, number) != sigismember(&other.sa_mask, number)) return false;
        return true;
    }

    std::array<struct sigaction, kLastSignal + 1> actions_;
};

// The Python that the shim chose, and its version; empty where the process runs Python already.
struct Python {
    std::string executable, version;
};
extern Python g_python;

// Starts the one interpreter of the process, which is never finalised and shared by all sessions, unless it runs. Makes
// sure that the standard streams are open, that Python runs and that kernelpoint is imported. Throws Failure. The
// GIL is free afterwards. Where the process already runs a Python of the same version (a simulator driven from Python),
// that one is used as it is.
void start_python();

// The Python function kernelpoint.session.boundary.open; the GIL must be held, after start_python().
pybind11::handle boundary_open();

// Holds the GIL for the calling thread, which may be any thread.
class Gil : Scope {
public:
    Gil() : state_(PyGILState_Ensure()) {}
    ~Gil() { PyGILState_Release(state_); }

private:
    PyGILState_STATE state_;
};

extern kp_set_error_fn g_set_error;

// Sets the message that last_error returns on this thread; returns the status.
kp_status report(const Failure& failure);

// Lock of a session. A waiting thread releases the GIL, so that the thread which has the session can continue.
class SessionLock : Scope {
public:
    explicit SessionLock(kp_session* session) : session_(session) {
        if (session->mutex.try_lock()) return;
        PyThreadState* state = PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr;
        session->mutex.lock();
        if (state != nullptr) PyEval_RestoreThread(state);
    }
    ~SessionLock() { session_->mutex.unlock(); }

private:
    kp_session* session_;
};

// Marks the session whose call runs on this thread, so that printed text goes to its log.
class Current : Scope {
public:
    explicit Current(const kp_session* session) { t_current_session = session; }
    ~Current() { t_current_session = nullptr; }
};

// Runs `body` and turns exceptions into a status.
//   otherwise  status of exceptions whose class names none
template <typename Body>
kp_status attempt(kp_status otherwise, Body body) {
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

// The same with the GIL held. Python objects that `body` makes end inside.
template <typename Body>
kp_status in_python(kp_status otherwise, Body body) {
    Gil gil;
    return attempt(otherwise, body);
}

// Refuses a call from inside the host's log function, on a thread with too little stack, or in a process that was
// forked during a call. Returns KP_OK or the status of the refusal.
kp_status check_caller();

inline std::atomic<int> g_inside{0};

// Counts the running calls, for check_caller in a forked process: the threads of those calls, with the session and the
// GIL, exist in the parent only.
class Inside : Scope {
public:
    Inside() { ++g_inside; }
    ~Inside() { --g_inside; }
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
    PyObject* result =
        PyObject_VectorcallMethod(name.ptr(), vector, (1 + sizeof...(arguments)) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    if (result == nullptr) throw pybind11::error_already_set();
    return pybind11::reinterpret_steal<pybind11::object>(result);
}

// Converts a C++ number or text to a Python object.
pybind11::object number(uint64_t value);
pybind11::object path(const char* bytes);  // None for NULL; bytes that are no UTF-8 survive the way to open()
pybind11::object text(const char* bytes);  // None for NULL; bytes that are no UTF-8 are replaced

}  // namespace kernelpoint::embedding
