// Failures on their way from Python, or from its start, to a status code and last_error.
#pragma once

#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>

#include "kernelpoint/abi.h"

namespace kernelpoint::embedding {

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

}  // namespace kernelpoint::embedding
