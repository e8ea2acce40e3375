// Lists of traces: the launches and copies of a workload in program order.
#pragma once

#include <string>

#include "native/trace/launches.h"
#include "native/trace/trace.h"

namespace kernelpoint {

// Reads a list, or a folder of traces, in the format that recognises it; launches of one file have one content. File
// names are relative to the list. Throws TraceError: no list, no launch in it, a trace that does not exist, or what
// else its format refuses.
Launches read_trace_list(const std::string& path);

}  // namespace kernelpoint
