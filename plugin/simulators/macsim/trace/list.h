// Lists of launches in MacSim's layout: kernel_config.txt.
#pragma once

#include "native/trace/lines.h"
#include "native/trace/trace_list.h"

namespace kernelpoint::macsim {

constexpr const char* list_name = "kernel_config.txt";

// Lines 'nvbit', '14', '-1', then a launch's trace.txt a line. Throws TraceError.
// Model: as MacSim does, of a launch's path only the last two components count, and they lie beside the list.
TraceList read_list(Lines& lines);

// A path that names the list of a launch's warps: its last component is trace.txt.
bool is_launch(const std::string& path);

}  // namespace kernelpoint::macsim
