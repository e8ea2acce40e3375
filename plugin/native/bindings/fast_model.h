// Shared parts of the bindings of the fast model.
#pragma once

#include <pybind11/numpy.h>

#include "fast_model/configuration/derive.h"
#include "native/bindings/bindings.h"

namespace kernelpoint {

using Copies = pybind11::array_t<uint64_t, pybind11::array::c_style | pybind11::array::forcecast>;

void register_launches(pybind11::module_& part);  // fast_model_launches.cc

}  // namespace kernelpoint
