// One launch of an Accel-Sim trace as a launch of MacSim's.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "native/trace/stream_hash.h"
#include "native/trace/trace.h"

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

// Exception: the conversion was stopped.
struct Stopped : std::runtime_error {
    Stopped() : std::runtime_error("stopped") {}
};
Digest digest(const std::string& trace, const std::atomic<bool>& stop);

// Writes trace.txt, trace_info.txt and the warps' files into an existing folder; returns the bytes written. PCs start
// at `code_base`; `level` is zlib's, 1 to 9. Throws TraceError, and Stopped soon after `stop` is set.
uint64_t write(const std::string& trace, const std::string& folder, uint64_t code_base, int level,
               const std::atomic<bool>& stop);

constexpr uint64_t code_size = 1 << 24;  // of a kernel at most

}  // namespace kernelpoint::macsim
