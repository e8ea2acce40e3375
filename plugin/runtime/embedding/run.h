// Runs a program and reads what it prints.
#pragma once

#include <string>
#include <vector>

namespace kernelpoint::embedding {

// The first output of a program, up to 4 KiB, as it comes in one piece; empty when it does not start, prints nothing,
// or prints nothing for 30 seconds. No shell; its standard error is dropped.
std::string first_output(const std::vector<std::string>& command);

}  // namespace kernelpoint::embedding
