// Shared parts of the bindings of the fast model.
#pragma once

#include <pybind11/numpy.h>

#include "fast_model/configuration/derive.h"
#include "native/bindings/bindings.h"

namespace kernelpoint {

using Copies = pybind11::array_t<uint64_t, pybind11::array::c_style | pybind11::array::forcecast>;

// Run `work` without the GIL and give it a function to ask Python with, which says whether to go on: it lets signals
// through, then does what it is given with the GIL held. What Python raises is raised when the work has ended.
template <typename Work>
void without_gil(const Work& work) {
    bool failed = false;  // a Python error is set
    const auto asks = [&failed](const auto& tell) {
        const pybind11::gil_scoped_acquire held;
        try {
            if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
            tell();
        } catch (pybind11::error_already_set& error) {
            error.restore();
            failed = true;
        }
        return !failed;
    };
    {
        const pybind11::gil_scoped_release released;
        work(asks);
    }
    if (failed) throw pybind11::error_already_set();
}

void register_launches(pybind11::module_& part);  // fast_model_launches.cc

}  // namespace kernelpoint
