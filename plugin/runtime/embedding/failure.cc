#include "runtime/embedding/failure.h"

#include <utility>

namespace py = pybind11;

namespace kernelpoint::embedding {
namespace {

constexpr int kInnermostLines = 3;

// Borrowed for the life of the process: the interpreter is never finalised.
PyObject* g_user_error = nullptr;
PyObject* g_host_error = nullptr;
PyObject* g_setup_error = nullptr;

thread_local bool t_interrupted = false;

bool is_a(const py::error_already_set& error, PyObject* type) {
    return type != nullptr && error.matches(type);
}

// "session.py:12 in decide, ..." from the outside in.
std::string innermost_lines(const py::error_already_set& error) {
    if (!error.trace()) return "";
    std::string lines;
    py::object frames = py::module_::import("traceback").attr("extract_tb")(error.trace(), -kInnermostLines);
    for (py::handle frame : frames)
        lines += (lines.empty() ? " (" : ", ") + utf8(frame.attr("filename")) + ":" +
                 utf8(py::str(frame.attr("lineno"))) + " in " + utf8(frame.attr("name"));
    return lines.empty() ? "" : lines + ")";
}

std::string message(const py::error_already_set& error) {
    if (is_a(error, PyExc_KeyboardInterrupt)) return kInterrupted;
    try {
        const std::string text = utf8(py::str(error.value()));
        if (is_a(error, g_user_error)) return text;
        const std::string type = utf8(error.type().attr("__name__"));
        return type + (text.empty() ? "" : ": " + text) + innermost_lines(error);
    } catch (py::error_already_set&) {
        return "a Python exception whose message cannot be made";
    }
}

}  // namespace

void load_error_classes() {
    const py::module_ errors = py::module_::import("kernelpoint.errors");
    g_user_error = py::object(errors.attr("KernelPointError")).release().ptr();
    g_host_error = py::object(errors.attr("HostError")).release().ptr();
    g_setup_error = py::object(errors.attr("SetupError")).release().ptr();
}

Failure from_python(py::error_already_set& error, kp_status otherwise) {
    t_interrupted = t_interrupted || is_a(error, PyExc_KeyboardInterrupt);
    const std::string text = message(error);
    if (is_a(error, g_host_error)) return Failure(KP_EINVAL, text);
    if (is_a(error, g_setup_error)) return Failure(KP_EVERSION, text);
    return Failure(otherwise, text);
}

bool was_interrupted() {
    return std::exchange(t_interrupted, false);
}

std::string utf8(py::handle text) {
    py::object bytes =
        py::reinterpret_steal<py::object>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
    if (!bytes) throw py::error_already_set();
    return std::string(PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
}

}  // namespace kernelpoint::embedding
