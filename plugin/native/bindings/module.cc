// kernelpoint._native: the parts of KernelPoint whose speed matters, for Python. Not a public interface: use
// kernelpoint.traces and kernelpoint.graphs.
#include <pybind11/pybind11.h>

#include "native/bindings/bindings.h"
#include "native/trace/trace.h"

namespace py = pybind11;

namespace {

// A TraceError becomes kernelpoint.errors.TraceError.
void translate_trace_error(std::exception_ptr pointer) {
    try {
        if (pointer) std::rethrow_exception(pointer);
    } catch (const kernelpoint::TraceError& error) {
        const py::object type = py::module_::import("kernelpoint.errors").attr("TraceError");
        PyErr_SetString(type.ptr(), error.what());
    }
}

}  // namespace

PYBIND11_MODULE(_native, module) {
    py::register_exception_translator(translate_trace_error);
    kernelpoint::register_traces(module);
    kernelpoint::register_tracez(module);
    kernelpoint::register_graph(module);
    kernelpoint::register_encoder(module);
    kernelpoint::register_replay(module);
    kernelpoint::register_convert(module);
    kernelpoint::register_fast_model(module);
}
