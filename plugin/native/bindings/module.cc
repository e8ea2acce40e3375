// kernelpoint._native: the parts of KernelPoint whose speed matters, for Python. Not a public interface: use
// kernelpoint.traces and kernelpoint.graphs.
#include <pybind11/pybind11.h>

#include <chrono>
#include <cstring>

#include "fast_model/config.h"
#include "native/bindings/bindings.h"

namespace py = pybind11;

namespace {

// Sets an error of kernelpoint.errors. Bytes of the text that are no UTF-8, which a file may hold, are escaped.
void set_error(const char* type, const char* text) {
    const py::object message = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "backslashreplace"));
    PyErr_SetObject(py::module_::import("kernelpoint.errors").attr(type).ptr(), message.ptr());
}

void translate(std::exception_ptr pointer) {
    try {
        if (pointer) std::rethrow_exception(pointer);
    } catch (const kernelpoint::TraceError& error) {
        set_error("TraceError", error.what());
    } catch (const kernelpoint::fast_model::ConfigError& error) {
        set_error("ConfigError", error.what());
    }
}

// Looks for signals at most every 50 ms: it needs the GIL.
void check_signals() {
    using Clock = std::chrono::steady_clock;
    thread_local Clock::time_point next{};
    if (Clock::now() < next) return;
    next = Clock::now() + std::chrono::milliseconds(50);
    const py::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace

kernelpoint::PythonSignals::PythonSignals() : interruption_(check_signals) {}

PYBIND11_MODULE(_native, module) {
    py::register_exception_translator(translate);
    kernelpoint::register_traces(module);
    kernelpoint::register_graph(module);
    kernelpoint::register_replay(module);
    kernelpoint::register_fast_model(module);
    for (const auto* bindings : kernelpoint::implementations<kernelpoint::SimulatorBindings>()) {
        py::module_ part = module.def_submodule(bindings->name());
        bindings->add_to(part);
    }
}
