// The commands of a workload in program order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "native/trace/trace.h"

namespace kernelpoint {

struct TraceList {
    enum class Kind : uint8_t { memcpy, launch };
    struct Command {
        Kind kind;
        std::string path;  // of a launch: its trace, which is a file; one file may be launched repeatedly
        uint64_t address = 0, bytes = 0;  // of a copy from host to device
        int64_t number = -1;  // of a launch: N of kernel-N or Kernel<N>, the tracer's; -1 where there is none
    };
    std::vector<Command> commands;
    uint64_t launches = 0;  // a launch index counts them from 0
};

// Reads a list, or a folder of traces, in the format that recognises it. File names are relative to the list. Throws
// TraceError: no list, no launch in it, a trace that does not exist, or what else its format refuses.
TraceList read_trace_list(const std::string& path);

}  // namespace kernelpoint
