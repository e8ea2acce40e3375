// Description of the host, as session.host_info takes it.
#pragma once

#include <pybind11/pybind11.h>

#include "kernelpoint/abi.h"

namespace kernelpoint::embedding {

pybind11::dict host_dictionary(const kp_host_info& info);

}  // namespace kernelpoint::embedding
