// Reads the text of an Accel-Sim trace (.traceg, plain, .xz or .zst, recognised by content).
#pragma once

#include <memory>
#include <string>

#include "native/trace/source.h"

namespace kernelpoint {

std::unique_ptr<TraceSource> open_text(const std::string& path, bool keep_values);  // throws TraceError

}  // namespace kernelpoint
