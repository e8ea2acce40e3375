// Reads the records of a launch in MacSim's layout.
#pragma once

#include <memory>
#include <string>

#include "native/trace/source.h"

namespace kernelpoint::macsim {

std::unique_ptr<TraceSource> open_launch(const std::string& path);  // its trace.txt; throws TraceError

}  // namespace kernelpoint::macsim
