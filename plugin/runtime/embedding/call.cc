#include "runtime/embedding/call.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "kernelpoint/printable.hpp"

namespace kernelpoint::embedding {

namespace py = pybind11;

kp_set_error_fn g_set_error = nullptr;
thread_local const kp_session* t_current_session = nullptr;

namespace {

// Numerics: importing numpy, the deepest thing that a plain decision was seen to do, needs about half of this.
constexpr size_t kLeastStack = 512 << 10;

std::atomic<pid_t> g_process{0};  // that counts g_inside

// True in a process that was forked while a call was inside.
bool was_forked_inside() {
    const pid_t process = getpid();
    if (g_process != 0 && g_process != process && g_inside > 0) return true;
    g_process = process;
    return false;
}

struct Stack {
    uintptr_t low = 0, high = 0;  // both 0: unknown
};

Stack own_stack() {
    Stack stack;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
    void* low = nullptr;
    size_t size = 0;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0)
        stack = {reinterpret_cast<uintptr_t>(low), reinterpret_cast<uintptr_t>(low) + size};
    pthread_attr_destroy(&attributes);
    return stack;
}

py::object owned(PyObject* made) {
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
}

}  // namespace

kp_status report(const Failure& failure) {
    g_set_error(failure.what());
    return failure.status;
}

kp_status check_caller() {
    const auto refuse = [](const std::string& why) { return report(Failure(KP_EINVAL, why)); };
    if (t_current_session != nullptr) return refuse("the plugin was called from inside the host's log function");
    if (was_forked_inside())
        return refuse(
            "this process was forked while a call of the plugin was inside: only its parent can go on with the "
            "session");
    // In a coroutine the stack is not that of the thread. Its size is not known then, and no call is refused.
    thread_local const Stack stack = own_stack();
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (here < stack.low || here >= stack.high || here - stack.low >= kLeastStack) return KP_OK;
    return refuse("the calling thread has " + std::to_string((here - stack.low) >> 10) +
                  " KiB of stack left, the plugin needs " + std::to_string(kLeastStack >> 10) +
                  ": call it from a thread with more (pthread_attr_setstacksize)");
}

py::object number(uint64_t value) {
    return owned(PyLong_FromUnsignedLongLong(value));
}

py::object path(const char* bytes) {
    return bytes == nullptr ? py::none() : owned(PyUnicode_DecodeFSDefault(bytes));
}

py::object text(const char* bytes) {
    if (bytes == nullptr) return py::none();
    return owned(PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(std::strlen(bytes)), "replace"));
}

void write_lines(const kp_session* session, const std::string& text) {
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = printable(text.substr(begin, end - begin));
        if (session != nullptr && session->log != nullptr)
            session->log(session->log_user, line.c_str());
        else
            fprintf(stderr, "%s\n", line.c_str());
        begin = end + 1;
    }
}

void write_line(pybind11::object line) {
    write_lines(t_current_session, utf8(line));
}

}  // namespace kernelpoint::embedding
