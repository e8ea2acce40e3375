// kernel_names.txt: what every launch was, traced or not.
#pragma once

#include <string>

#include "native/trace/trace.h"

namespace kernelpoint::macsim {

// Fills name, grid, block, registers and shared memory of launch `number`; false where there is no such file, or no
// such launch in it. The file read last is kept, as all launches of a list ask for the same one. Throws TraceError.
bool find_named_launch(const std::string& path, uint64_t number, LaunchHeader& header);

}  // namespace kernelpoint::macsim
