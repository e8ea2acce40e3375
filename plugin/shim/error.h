// The text behind kp_last_error(): one per thread, owned by the shim.
#ifndef KP_SHIM_ERROR_H
#define KP_SHIM_ERROR_H

#include <string>

#include "kernelpoint.h"

namespace kp::shim {

// Remember why a call fails and return its status.
kp_status fail(kp_status status, const std::string& reason);

}  // namespace kp::shim
#endif
