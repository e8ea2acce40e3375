// The commands of a workload in program order: Accel-Sim's kernelslist.g, MacSim's kernel_config.txt, or a folder.
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

// Reads what Accel-Sim reads: lines that start with `MemcpyHtoD` or `kernel`; all others are ignored. File names are
// relative to the list. A list whose first line is `nvbit` is MacSim's; its launches' paths name their trace.txt. A
// folder stands for its files kernel-N[-ctx_0x..].traceg[.xz|.zst] or .tracez by N, whether or not a list lies in it;
// without any, for its kernel_config.txt. Throws TraceError: no list, no launch in it, a trace that does not exist, a
// malformed copy, or one launch present in two files of a folder.
TraceList read_trace_list(const std::string& path);

}  // namespace kernelpoint
