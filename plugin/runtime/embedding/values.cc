#include <cstring>

#include "runtime/embedding/call.h"

namespace py = pybind11;

namespace kernelpoint::embedding {
namespace {

py::object owned(PyObject* made) {
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
}

}  // namespace

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

}  // namespace kernelpoint::embedding
