// Parts of the module kernelpoint._native.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "native/registered.h"
#include "native/trace/interruption.h"
#include "native/trace/launches.h"
#include "native/trace/trace.h"

// Texts between Python and C++: names of files, mostly. One that is no UTF-8, or holds a NUL, is refused with a
// message; pybind11's own conversion says that the function has no such arguments, or cannot decode its result.
namespace pybind11::detail {

template <>
class type_caster<std::string> {
public:
    PYBIND11_TYPE_CASTER(std::string, const_name("str"));

    bool load(handle source, bool) {
        if (PyBytes_Check(source.ptr())) {
            value.assign(PyBytes_AS_STRING(source.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(source.ptr())));
            return true;
        }
        if (!PyUnicode_Check(source.ptr())) return false;
        Py_ssize_t size = 0;
        const char* text = PyUnicode_AsUTF8AndSize(source.ptr(), &size);
        if (text == nullptr) {
            PyErr_Clear();
            throw kernelpoint::TraceError(escaped(source), 0, "is no UTF-8; rename the file");
        }
        value.assign(text, static_cast<size_t>(size));
        if (value.find('\0') != std::string::npos)
            throw kernelpoint::TraceError(escaped(source), 0, "holds a byte of value 0, which no name of a file does");
        return true;
    }

    static handle cast(const std::string& text, return_value_policy, handle) {
        if (PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr)) return made;
        PyErr_Clear();
        const object lenient = reinterpret_steal<object>(
            PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
        throw kernelpoint::TraceError(escaped(lenient), 0, "is no UTF-8; rename the file");
    }

private:
    static std::string escaped(handle text) {
        const object shown = reinterpret_steal<object>(PyObject_ASCII(text.ptr()));
        return std::string(PyUnicode_AsUTF8(shown.ptr())).substr(0, 200);
    }
};

}  // namespace pybind11::detail

namespace kernelpoint {

template <typename Number>
using Numbers = pybind11::array_t<Number, pybind11::array::c_style | pybind11::array::forcecast>;

// Makes launches from numpy arrays. `contents`: [N], content of each launch, -1 if not traced. `paths`: a trace of
// each content. `copies`: [n, 3], position among all commands, address and bytes, as read_trace_list gives them.
Launches launches_of(const Numbers<int32_t>& contents, std::vector<std::string> paths, const Numbers<uint64_t>& copies);

void register_traces(pybind11::module_& module);
void register_graph(pybind11::module_& module);
void register_replay(pybind11::module_& module);  // before register_fast_model, which takes touches
void register_fast_model(pybind11::module_& module);

// Python bindings of one simulator, a submodule of its name. A Registered<SimulatorBindings, ...> in its folder adds
// them.
class SimulatorBindings {
public:
    virtual ~SimulatorBindings() = default;
    virtual const char* name() const = 0;
    virtual void add_to(pybind11::module_& part) const = 0;
};

// Guard for calls without the GIL: Ctrl-C, or any exception of a signal handler, ends the call. For py::call_guard
// behind py::gil_scoped_release.
class PythonSignals {
public:
    PythonSignals();

private:
    const Interruption interruption_;
};

// Runs `body` without the GIL; Ctrl-C ends it at its next interruption point.
template <typename Body>
auto without_gil(Body body) {
    const pybind11::gil_scoped_release released;
    const PythonSignals signals;
    return body();
}

template <typename Number>
pybind11::array_t<Number> array_of(const std::vector<Number>& values) {
    return pybind11::array_t<Number>(static_cast<pybind11::ssize_t>(values.size()), values.data());
}

// Calls a Python function from work that runs without the GIL, and handles signals. A Python exception ends the work.
template <typename... Arguments>
void tell(const pybind11::object& function, const Arguments&... arguments) {
    const pybind11::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
    if (!function.is_none()) function(arguments...);
}

}  // namespace kernelpoint
