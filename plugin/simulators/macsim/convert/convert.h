// One launch of an Accel-Sim trace as a launch of MacSim's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "native/trace/stream_hash.h"
#include "native/trace/trace.h"
#include "simulators/macsim/trace/record.h"

namespace kernelpoint::macsim {

struct StaticInstruction {
    uint64_t pc;    // offset within the kernel
    uint64_t hash;  // of what MacSim decodes once for each PC
};

// Hashes of the files that a launch is converted to, computed without writing them.
struct Digest {
    LaunchHeader header;
    StreamHash content;          // of the files, PCs taken as offsets; equal for launches that may share a folder
    uint64_t ctas_per_core = 0;  // that fit an SM
    uint64_t warps = 0, records = 0;
    uint64_t without_lanes = 0;                    // instructions that no lane executed: left out, as the tracer does
    std::map<std::string, uint64_t> approximated;  // opcode base -> instructions that MacSim has no number for
    std::vector<StaticInstruction> instructions;   // by PC, each once
};

Digest digest(const std::string& trace);  // throws TraceError, as each_warp does

// Calls `take` with the records of every warp, in the order of the trace. PCs start at `code_base`.
using TakeWarp = std::function<void(uint32_t id, const std::vector<Record>& records)>;
void each_warp(const std::string& trace, uint64_t code_base, const TakeWarp& take);

constexpr uint64_t code_size = 1 << 24;  // of a kernel at most

}  // namespace kernelpoint::macsim
