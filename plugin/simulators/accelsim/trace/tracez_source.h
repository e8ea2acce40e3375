// Reads a .tracez file for a TraceReader.
#pragma once

#include <memory>
#include <string>

#include "native/trace/source.h"

namespace kernelpoint {

std::unique_ptr<TraceSource> open_tracez(const std::string& path, bool keep_values);  // throws TraceError

}  // namespace kernelpoint
