// What issuing one warp instruction does: the part of Sm that knows instructions.
#include "fast_model/sm.h"

namespace kernelpoint::fast_model {
namespace {

uint32_t count_lanes(uint32_t mask) {
    return mask == UINT32_MAX ? kWarpSize : static_cast<uint32_t>(__builtin_popcount(mask));
}

}  // namespace

void Sm::execute(Scheduler& scheduler, Scheduler::Slot& slot, Cycles now) {
    Warp& warp = *slot.warp;
    const Instruction& instruction = *warp.next++;
    const OpcodeTiming& timing = timings_[instruction.opcode];
    const bool active = instruction.active_mask != 0;
    ++counters_.warp_instructions;
    instructions_ += count_lanes(instruction.active_mask);
    scheduler.occupy(timing.unit, now + timing.interval);
    // Model: an instruction of which every lane is off takes its issue slot and nothing else.
    const Cycles goes_on = active ? act(timing, warp, instruction, now) : now + 1;

    ResidentCta& cta = *warp.cta;
    const bool ended = warp.next == warp.end;
    if (ended) {
        warp.results_at = std::max(warp.results_at, now + 1);
        end_warp(warp, timing.exits);
    } else {
        slot.unit = timings_[warp.next->opcode].unit;
        slot.ready_at = std::max(goes_on, warp.scoreboard.operands_ready(*warp.next));
        if (active && timing.action == Action::barrier) {
            slot.ready_at = kNever;
            ++cta.waiting;
        }
    }
    scheduler.issued(now, ended);
    if (ended || timing.action == Action::barrier) pass_barrier(cta, now);
}

// Returns when the warp may issue again; results go to the scoreboard.
Cycles Sm::act(const OpcodeTiming& timing, Warp& warp, const Instruction& instruction, Cycles now) {
    Cycles result_at = now + timing.latency;
    switch (timing.action) {
        case Action::branch:
            return result_at;
        case Action::barrier:
            return now + 1;
        case Action::fence:
            return std::max(now + timing.latency, warp.fence_at);
        case Action::compute:
            if (instruction.destination_count == 0) result_at = now + 1;  // nobody waits for it
            break;
        default:
            result_at = access_memory(timing, warp, instruction, now);
            warp.fence_at = std::max(warp.fence_at, result_at);
    }
    warp.scoreboard.write(instruction, result_at);
    warp.results_at = std::max(warp.results_at, result_at);
    return now + 1;
}

Cycles Sm::access_memory(const OpcodeTiming& timing, Warp& warp, const Instruction& instruction, Cycles now) {
    if (instruction.address_count == 0) return now + timing.latency;
    const uint64_t* addresses = translate(timing, warp, instruction);
    const bool shared =
        timing.action == Action::access_shared || (timing.space == MemorySpace::generic && is_shared(addresses[0]));
    if (shared) return access_shared(addresses, instruction, now);
    coalesce(addresses, instruction.address_count, instruction.width, lines_);
    occupy_load_store_unit(now, lines_.size());
    Cycles done = now;
    for (const LineAccess& line : lines_) {
        done = std::max(done, timing.action == Action::load_global    ? memory_.load(id_, now, line)
                              : timing.action == Action::store_global ? memory_.store(id_, now, line)
                                                                      : memory_.atomic(id_, now, line));
        ++now;  // the unit handles one line a cycle
    }
    return done;
}

Cycles Sm::access_shared(const uint64_t* addresses, const Instruction& instruction, Cycles now) {
    const BankPasses banks = count_bank_passes(addresses, instruction.address_count, instruction.width);
    ++counters_.shared_accesses;
    counters_.shared_bank_conflicts += banks.conflicts;
    occupy_load_store_unit(now, banks.passes);
    return now + config_.shared_latency + banks.passes - 1;
}

// Model: the trace gives a local address as its thread sees it; hardware interleaves the threads of a warp, so that
// equal addresses of neighbouring lanes lie side by side. Every warp slot has 16 MiB, far above global memory.
const uint64_t* Sm::translate(const OpcodeTiming& timing, const Warp& warp, const Instruction& instruction) {
    const uint64_t* addresses = warp.cta->trace.addresses.data() + instruction.first_address;
    if (timing.space != MemorySpace::local) return addresses;
    const uint64_t width = std::max<uint64_t>(instruction.width, 1);
    const uint64_t base = (uint64_t{1} << 60) + (uint64_t{warp.slot} << 24);
    uint32_t lanes = instruction.active_mask;
    for (uint32_t i = 0; i < instruction.address_count && i < kWarpSize; ++i) {
        const auto lane = static_cast<uint64_t>(__builtin_ctz(lanes | 0x80000000u));
        lanes &= lanes - 1;
        const uint64_t offset = addresses[i] & 0x7ffff;  // 512 KiB a thread
        local_addresses_[i] = base + (offset / width * kWarpSize + lane) * width + offset % width;
    }
    return local_addresses_;
}

// Model: the shared window of the generic address space is 16 MiB. All lanes of an access are taken to agree.
bool Sm::is_shared(uint64_t generic_address) const {
    return demand_.shared_base != 0 && generic_address >= demand_.shared_base &&
           generic_address - demand_.shared_base < (uint64_t{1} << 24);
}

// The SM's schedulers share it: one line, or one pass through the banks of shared memory, a cycle.
void Sm::occupy_load_store_unit(Cycles now, uint64_t passes) {
    for (Scheduler& scheduler : schedulers_) scheduler.occupy(static_cast<uint8_t>(Unit::memory), now + passes);
}

}  // namespace kernelpoint::fast_model
