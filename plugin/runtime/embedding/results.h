// Results of a session that has finished: taken from Python once, then looked up without it.
#pragma once

#include <pybind11/pybind11.h>

#include "kernelpoint/abi.h"

namespace kernelpoint::embedding {

// From the summary that session.finish() returned; its attributes have the names of kp_summary's fields.
void take_summary(kp_session& session, const pybind11::object& found, kp_summary* summary);

kp_status process_summary(kp_session* session, uint32_t process, kp_process* counts);
kp_status estimate_at(kp_session* session, uint32_t process, uint32_t index, kp_estimate* estimate);

}  // namespace kernelpoint::embedding
