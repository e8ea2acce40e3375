#include "fast_model/opcode_timing.h"

namespace kernelpoint::fast_model {
namespace {

bool waits_for_memory(const Opcode& opcode) {
    return opcode.base == "MEMBAR" || opcode.base == "DEPBAR" || opcode.base == "LDGDEPBAR";
}

// BAR.ARV announces a warp without waiting. Model: the trace does not say at which barrier, so it is left out.
bool waits_for_cta(const Opcode& opcode) {
    return opcode.is_barrier && opcode.base == "BAR" && opcode.text.find(".ARV") == std::string::npos;
}

Action memory_action(const Opcode& opcode) {
    switch (opcode.space) {
        case MemorySpace::none:
        case MemorySpace::constant:
        case MemorySpace::texture:
            return Action::compute;
        case MemorySpace::shared:
            return Action::access_shared;
        default:
            break;
    }
    if (opcode.is_atomic) return Action::atomic_global;
    if (opcode.is_load) return Action::load_global;
    return opcode.is_store ? Action::store_global : Action::compute;  // the rest is cache control
}

}  // namespace

void OpcodeTimings::extend(const std::vector<Opcode>& opcodes) {
    for (size_t i = timings_.size(); i < opcodes.size(); ++i) timings_.push_back(time(opcodes[i]));
}

OpcodeTiming OpcodeTimings::time(const Opcode& opcode) const {
    OpcodeTiming timing;
    timing.space = opcode.space;
    timing.unit = static_cast<uint8_t>(opcode.unit);
    timing.exits = opcode.is_exit;
    timing.latency = config_.unit(opcode.unit).latency;
    timing.interval = config_.unit(opcode.unit).interval;
    if (opcode.unit == Unit::memory) {
        timing.action = memory_action(opcode);
        timing.latency = opcode.space == MemorySpace::texture  ? config_.texture_latency
                         : opcode.space == MemorySpace::shared ? config_.shared_latency
                                                               : config_.constant_latency;
    } else if (waits_for_cta(opcode)) {
        timing.action = Action::barrier;
    } else if (waits_for_memory(opcode)) {
        timing.action = Action::fence;
    } else if (opcode.is_branch) {
        timing.action = Action::branch;
    }
    return timing;
}

}  // namespace kernelpoint::fast_model
