// The one interpreter of the process: started by the first `open` or `unpack`, never finalised, shared by all sessions.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace kernelpoint::embedding {

// The Python that the shim chose, and its version; empty where the process runs Python already.
struct Python {
    std::string executable, version;
};
extern Python g_python;

// Makes sure that the standard streams are open, that Python runs and that kernelpoint is imported. Throws Failure. The
// GIL is free afterwards. Where the process already runs a Python of the same version (a simulator driven from Python),
// that one is used as it is.
void start_python();

// The Python function kernelpoint.session.boundary.open; the GIL must be held, after start_python().
pybind11::handle boundary_open();

// Holds the GIL for the calling thread, which may be any thread.
class Gil {
public:
    Gil() : state_(PyGILState_Ensure()) {}
    ~Gil() { PyGILState_Release(state_); }
    Gil(const Gil&) = delete;
    Gil& operator=(const Gil&) = delete;

private:
    PyGILState_STATE state_;
};

}  // namespace kernelpoint::embedding
