// Parts of the module kernelpoint._native.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "native/trace/interruption.h"
#include "native/trace/trace.h"

namespace kernelpoint {

void register_traces(pybind11::module_& module);
void register_tracez(pybind11::module_& module);
void register_graph(pybind11::module_& module);  // graph_bindings.cc
void register_encoder(pybind11::module_& module);
void register_replay(pybind11::module_& module);
void register_convert(pybind11::module_& module);     // convert_bindings.cc
void register_fast_model(pybind11::module_& module);  // fast_model_bindings.cc

// For py::call_guard behind py::gil_scoped_release: Ctrl-C, and whatever else a signal handler raises, ends the call.
class PythonSignals {
public:
    PythonSignals();

private:
    const Interruption interruption_;
};

// A CTA as Python sees it: its place, and arrays of its own.
pybind11::dict cta_to_dict(const Cta& cta);
pybind11::tuple opcode_texts(const std::vector<Opcode>& opcodes);

}  // namespace kernelpoint
