// Effects of issuing one warp instruction: the part of Sm that knows instructions.
#include "fast_model/sm.h"

namespace kernelpoint::fast_model {
namespace {

constexpr uint32_t kPrefetched = 5;  // lines: about what a core of the machine can have asked for at once

}  // namespace

void Sm::execute(Scheduler& scheduler, Scheduler::Slot& slot, Cycles now) {
    Warp& warp = *slot.warp;
    const Step& step = *slot.next++;
    const Operation& operation = program_[step.operation];
    ++counters_.warp_instructions;
    instructions_ += step.lanes;
    scheduler.occupy(operation.unit, now + operation.interval);
    // Model: an instruction of which every lane is off takes its issue slot and nothing else.
    const bool active = step.lanes != 0;
    const Cycles goes_on = active ? act(operation, warp, step, now) : now + 1;

    ResidentCta& cta = *warp.cta;
    const bool ended = slot.next == warp.end;
    const bool at_barrier = operation.action == Action::barrier;
    if (ended) {
        warp.results_at = std::max(warp.results_at, now + 1);
        end_warp(warp, operation.exits);
    } else {
        const Operation& next = program_[slot.next->operation];
        slot.unit = next.unit;
        prefetch(warp, *slot.next);
        const Scoreboard::Ready operands = warp.scoreboard.operands_ready(next);
        const Wait own = operation.action == Action::fence ? Wait::memory : Wait::dependence;
        slot.waits_for = operands.at > goes_on ? operands.waits_for : own;
        slot.ready_at = std::max(goes_on, operands.at);
        if (active && at_barrier) {
            slot.ready_at = kNever;
            ++cta.waiting;
        }
    }
    scheduler.issued(now, ended);
    if (ended || at_barrier) pass_barrier(cta, now);
}

// Asks the machine for what an access will read: the few lines of most, here; the many of others, when they issue.
void Sm::prefetch(const Warp& warp, const Step& step) const {
    if (step.reach != Reach::lines) return;
    if (step.count > 4) return __builtin_prefetch(warp.accesses);
    for (uint32_t i = 0; i < step.count; ++i) memory_.prefetch(id_, warp.accesses[i].line);
}

// Returns when the warp may issue again; results go to the scoreboard.
Cycles Sm::act(const Operation& operation, Warp& warp, const Step& step, Cycles now) {
    Cycles result_at = now + operation.latency;
    switch (operation.action) {
        case Action::branch:
            return result_at;
        case Action::barrier:
            return now + 1;
        case Action::fence:
            return std::max(result_at, warp.fence_at);
        case Action::compute:
            if (!operation.has_result) result_at = now + 1;  // nobody waits for it
            break;
        default:
            if (step.reach == Reach::shared_memory) {
                result_at = access_shared(bank_passes(*warp.accesses), now);
            } else if (step.reach != Reach::nothing) {
                result_at = access_memory(operation, warp, step, now);
            }
            warp.accesses += step.count;
            warp.fence_at = std::max(warp.fence_at, result_at);
    }
    warp.scoreboard.write(operation, result_at);
    warp.results_at = std::max(warp.results_at, result_at);
    return now + 1;
}

Cycles Sm::access_memory(const Operation& operation, const Warp& warp, const Step& step, Cycles now) {
    const LineAccess* lines = warp.accesses;
    const uint64_t base = step.reach == Reach::local_lines ? warp.local_line : 0;
    occupy_load_store_unit(now, step.count);
    if (step.count > 4) {
        for (uint32_t i = 0; i < kPrefetched; ++i) memory_.prefetch(id_, base + lines[i].line);
    }
    Cycles done = now;
    for (uint32_t i = 0; i < step.count; ++i) {
        if (i + kPrefetched < step.count) memory_.prefetch(id_, base + lines[i + kPrefetched].line);
        const LineAccess access{base + lines[i].line, lines[i].sectors};
        done = std::max(done, operation.action == Action::load_global    ? memory_.load(id_, now, access)
                              : operation.action == Action::store_global ? memory_.store(id_, now, access)
                                                                         : memory_.atomic(id_, now, access));
        ++now;  // the unit handles one line a cycle
    }
    return done;
}

Cycles Sm::access_shared(const BankPasses& banks, Cycles now) {
    ++counters_.shared_accesses;
    counters_.shared_bank_conflicts += banks.conflicts;
    occupy_load_store_unit(now, banks.passes);
    return now + config_.shared_latency + banks.passes - 1;
}

// The SM's schedulers share it: one line, or one pass through the banks of shared memory, a cycle.
void Sm::occupy_load_store_unit(Cycles now, uint64_t passes) {
    for (Scheduler& scheduler : schedulers_) scheduler.occupy(static_cast<uint8_t>(Unit::memory), now + passes);
}

}  // namespace kernelpoint::fast_model
