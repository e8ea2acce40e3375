// Timing of an opcode in an SM: the trace's opcode text is looked at once, not once per instruction.
#pragma once

#include <vector>

#include "fast_model/config.h"
#include "native/trace/opcode.h"

namespace kernelpoint::fast_model {

enum class Action : uint8_t {
    compute,      // a result after a fixed latency; loads of constants and textures too, whose addresses traces lack
    branch,       // the warp goes on after the latency
    barrier,      // the warp waits for the other warps of its CTA
    fence,        // the warp waits until its own memory accesses are done
    load_global,  // global, local or generic memory through L1
    store_global,
    atomic_global,
    access_shared,
};

struct OpcodeTiming {
    Action action = Action::compute;
    MemorySpace space = MemorySpace::none;
    uint8_t unit = 0;
    bool exits = false;
    uint32_t latency = 0, interval = 0;
};

// Latency and unit of each opcode in TraceReader::opcodes(), a table that grows while a launch is read.
class OpcodeTimings {
public:
    explicit OpcodeTimings(const GpuConfig& config) : config_(config) {}
    void extend(const std::vector<Opcode>& opcodes);
    void clear() { timings_.clear(); }
    const OpcodeTiming& operator[](uint32_t opcode) const { return timings_[opcode]; }

private:
    OpcodeTiming time(const Opcode& opcode) const;

    const GpuConfig& config_;
    std::vector<OpcodeTiming> timings_;
};

}  // namespace kernelpoint::fast_model
