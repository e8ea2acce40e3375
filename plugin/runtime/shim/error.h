// The text behind kp_last_error(): one per thread, owned by the shim.
#pragma once

#include <string>

#include "runtime/abi_exported.h"

namespace kernelpoint::shim {

// Remember why a call fails and return its status.
kp_status fail(kp_status status, const std::string& reason);

}  // namespace kernelpoint::shim
