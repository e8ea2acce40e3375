// A streaming multiprocessor: the CTAs that fit on it, their warps, and what issuing an instruction does.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "fast_model/launch_counters.h"
#include "fast_model/memory_system.h"
#include "fast_model/program.h"
#include "native/replay/footprint.h"

namespace kernelpoint::fast_model {

// Cycles at which each register of a warp may be read or written again. No reset is needed between warps: times only
// grow, and a CTA keeps its slots until its last result has arrived.
class Scoreboard {
public:
    struct Ready {
        Cycles at;
        Wait waits_for;  // until then
    };

    // Cycle at which no earlier write to the operands is pending (read after write, write after write).
    Ready operands_ready(const Operation& operation) const {
        uint64_t last = 0;
        for (uint32_t i = 0; i < operation.needed; ++i) last = std::max(last, at_[operation.needs[i]]);
        return {last / 2, last % 2 != 0 ? Wait::memory : Wait::dependence};
    }
    void write(const Operation& operation, Cycles result_at) {
        const uint64_t at = 2 * result_at + (operation.accesses_memory() ? 1 : 0);
        for (uint32_t i = 0; i < operation.written; ++i) at_[operation.writes[i]] = at;
    }

    // Asks the processor to load the registers that nearly all code uses.
    void prefetch() const {
        for (uint32_t i = 0; i < 32; i += 8) __builtin_prefetch(&at_[i]);
    }

private:
    std::array<uint64_t, kConstantSlot> at_{};  // twice the cycle, and 1 more where memory gives the result
};

struct Warp;

// A CTA that is resident on an SM.
struct ResidentCta {
    DecodedCta decoded;
    std::vector<Warp*> warps;  // slots of the SM that are its own until it retires
    uint32_t running = 0;      // warps that have not ended
    uint32_t waiting = 0;      // of those, warps at the barrier
    uint32_t never_exit = 0;   // warps whose instructions ended without an EXIT
    Cycles done_at = 0;        // when the last result of its ended warps is there
};

struct alignas(64) Warp {
    const Step* end = nullptr;
    const LineAccess* accesses = nullptr;  // of the steps that are left
    ResidentCta* cta = nullptr;
    uint64_t local_line = 0;  // where its local memory begins
    Cycles results_at = 0;    // when the last of its results or stores is done
    Cycles fence_at = 0;      // the same for memory accesses alone
    Scoreboard scoreboard;
};

// One warp scheduler of an SM: greedy-then-oldest. It goes on with the warp it issued last as long as that warp can
// issue, else takes the oldest that can.
class Scheduler {
public:
    // A resident warp. Slots are ordered by age.
    struct Slot {
        Cycles ready_at;  // operands and barrier; kNever while it waits at a barrier
        Warp* warp;
        const Step* next;
        uint8_t unit;    // of the next step
        Wait waits_for;  // until ready_at
    };

    explicit Scheduler(const Program& program) : program_(program) {}

    void add(Warp* warp, const Step* first, Cycles ready_at) {
        slots_.push_back({ready_at, warp, first, program_[first->operation].unit, Wait::start});
        if (ready_at >= next_event_) return;
        next_event_ = ready_at;
        chosen_ = kNone;
    }
    // Chooses the warp to issue at `now` and remembers it as the greedy one; null if none can issue, and next_event()
    // then has the next possible cycle.
    Slot* pick(Cycles now) {
        if (chosen_ == kNone || earliest(slots_[chosen_]) > now) {
            choose(now);
            if (next_event_ > now) return nullptr;
        }
        greedy_ = chosen_;
        count_wait(slots_[chosen_], now);
        return &slots_[chosen_];
    }
    // Reports that the warp from pick() has issued. Its slot describes its next instruction, or `ended` is true.
    void issued(Cycles now, bool ended) {
        if (ended) {
            slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(greedy_));
            greedy_ = kNone;
        } else if (earliest(slots_[greedy_]) <= now + 1) {
            chosen_ = greedy_;
            next_event_ = now + 1;
            return;
        }
        choose(now + 1);
    }
    // Blocks a functional unit until a cycle.
    void occupy(uint8_t unit, Cycles until) { unit_free_[unit] = std::max(unit_free_[unit], until); }
    // Releases the CTA's warps from their barrier at `now`.
    void release(const ResidentCta* cta, Cycles now) {
        for (Slot& slot : slots_) {
            if (slot.warp->cta != cta || slot.ready_at != kNever) continue;
            const Scoreboard::Ready operands = slot.warp->scoreboard.operands_ready(program_[slot.next->operation]);
            slot.waits_for = operands.at > now ? operands.waits_for : Wait::barrier;
            slot.ready_at = std::max(now, operands.at);
            if (slot.ready_at >= next_event_) continue;
            next_event_ = slot.ready_at;
            chosen_ = kNone;
        }
    }
    void clear() {
        slots_.clear();
        unit_free_.fill(0);
        greedy_ = chosen_ = kNone;
        next_event_ = kNever;
        idle_since_ = 0;
        waited_.fill(0);
    }

    // Earliest cycle at which a warp can issue.
    Cycles next_event() const { return next_event_; }
    size_t warps() const { return slots_.size(); }
    // Cycles that warps of the running launch waited, by reason.
    const WaitCycles& waited() const { return waited_; }

private:
    static constexpr size_t kNone = SIZE_MAX;

    Cycles earliest(const Slot& slot) const { return std::max(slot.ready_at, unit_free_[slot.unit]); }
    // The warp that can issue first, not before `from`; among equals the greedy one, then the oldest.
    void choose(Cycles from) {
        chosen_ = kNone;
        next_event_ = kNever;
        if (greedy_ != kNone && slots_[greedy_].ready_at != kNever) {
            chosen_ = greedy_;
            next_event_ = std::max(from, earliest(slots_[greedy_]));
        }
        for (size_t i = 0; i < slots_.size() && next_event_ > from; ++i) {
            const Cycles at = std::max(from, earliest(slots_[i]));
            if (at < next_event_) {
                next_event_ = at;
                chosen_ = i;
            }
        }
        if (chosen_ == kNone) return;
        // Thousands of warps do not fit the machine's caches: what issuing this one will read is asked for now.
        const Slot& slot = slots_[chosen_];
        __builtin_prefetch(slot.next);
        __builtin_prefetch(slot.warp);
        slot.warp->scoreboard.prefetch();
    }
    void count_wait(const Slot& slot, Cycles now) {
        const Cycles ready = std::min(std::max(slot.ready_at, idle_since_), now);
        waited_[static_cast<size_t>(slot.waits_for)] += ready - idle_since_;
        waited_[static_cast<size_t>(Wait::unit)] += now - ready;
        idle_since_ = now + 1;
    }

    const Program& program_;
    std::vector<Slot> slots_;
    std::array<Cycles, kUnits> unit_free_{};
    size_t greedy_ = kNone;
    size_t chosen_ = kNone;  // the slot that issues at next_event_, unless something happens before
    Cycles next_event_ = kNever;
    Cycles idle_since_ = 0;  // the cycle after the one in which it issued last
    WaitCycles waited_{};
};

constexpr uint32_t kPrefetched = 5;  // lines: about what a core of the machine can have asked for at once

inline uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

// Resources of an SM that one CTA of the running launch takes, in the SM's allocation units.
struct CtaDemand {
    CtaDemand() = default;
    CtaDemand(const GpuConfig& config, const LaunchHeader& header)
        : warps(header.warps_per_cta()),
          registers(round_up(uint64_t{header.registers} * kWarpSize, config.register_allocation_unit) * warps),
          shared_memory(round_up(header.shared_memory, config.shared_allocation_unit)) {}
    // Name of the resource that is too small on every SM; empty if a CTA fits.
    std::string excess(const GpuConfig& config) const {
        const auto more = [](const char* what, uint64_t needs, uint64_t has) {
            return std::string(what) + ": it needs " + std::to_string(needs) + ", an SM has " + std::to_string(has);
        };
        if (warps > config.max_warps_per_sm) return more("warps", warps, config.max_warps_per_sm);
        if (registers > config.registers_per_sm) return more("registers", registers, config.registers_per_sm);
        if (shared_memory > config.shared_memory_per_sm) {
            return more("bytes of shared memory", shared_memory, config.shared_memory_per_sm);
        }
        return "";
    }
    // Number of CTAs that fit on an SM.
    uint64_t residency(const GpuConfig& config) const {
        const replay::Residency sm{config.sms, config.max_ctas_per_sm, config.max_warps_per_sm, config.registers_per_sm,
                                   config.shared_memory_per_sm};
        return sm.ctas_of_sm(warps, registers, shared_memory);
    }

    uint64_t warps = 0, registers = 0, shared_memory = 0;
};

class Sm {
public:
    Sm(const GpuConfig& config, uint32_t id, const Program& program, MemorySystem& memory, Counters& counters)
        : config_(config),
          program_(program),
          memory_(memory),
          counters_(counters),
          id_(id),
          schedulers_(config.schedulers_per_sm, Scheduler(program)),
          warps_(config.max_warps_per_sm) {
        // Model: every warp slot has 16 MiB of local memory, far above global memory.
        for (uint64_t i = 0; i < warps_.size(); ++i) {
            const uint64_t slot = uint64_t{id} * config.max_warps_per_sm + i;
            warps_[i].local_line = ((uint64_t{1} << 60) + (slot << 24)) / kLineBytes;
        }
        clear();
    }

    // Warp slots are given out in their order again, whatever the launch before did: local memory lies by slot.
    void start_launch(uint64_t residency) {
        residency_ = residency;
        std::sort(free_warps_.begin(), free_warps_.end(), std::greater<>());
        for (Scheduler& scheduler : schedulers_) scheduler.clear();
    }
    bool fits() const { return ctas_.size() < residency_; }
    bool empty() const { return ctas_.empty(); }
    // Places a CTA; its warps may issue from `start` on. A CTA without instructions ends at `start`.
    void place(std::unique_ptr<ResidentCta> cta, Cycles start) {
        cta->running = cta->waiting = cta->never_exit = 0;
        cta->done_at = start;
        cta->warps.clear();
        for (const DecodedCta::Warp& decoded : cta->decoded.warps) {
            if (decoded.steps->empty()) continue;
            Warp* warp = free_warps_.back();
            free_warps_.pop_back();
            cta->warps.push_back(warp);
            const Step* first = decoded.steps->data();
            warp->end = first + decoded.steps->size();
            warp->accesses = cta->decoded.accesses.data() + decoded.first_access;
            warp->cta = cta.get();
            warp->results_at = warp->fence_at = start;
            scheduler_for_next_warp().add(warp, first, start);
            ++cta->running;
        }
        if (cta->running == 0) next_retirement_ = std::min(next_retirement_, start);
        ctas_.push_back(std::move(cta));
        update_next_issue();
    }
    // Removes the CTAs that have ended at `now`.
    void retire(Cycles now, std::vector<std::unique_ptr<ResidentCta>>& retired) {
        next_retirement_ = kNever;
        size_t kept = 0;
        for (auto& cta : ctas_) {
            if (cta->running == 0 && cta->done_at <= now) {
                free_warps_.insert(free_warps_.end(), cta->warps.rbegin(), cta->warps.rend());
                retired.push_back(std::move(cta));
                continue;
            }
            if (cta->running == 0) next_retirement_ = std::min(next_retirement_, cta->done_at);
            ctas_[kept++] = std::move(cta);
        }
        ctas_.resize(kept);
    }
    // Lets every scheduler that can issue at `now` issue an instruction.
    void issue(Cycles now) {
        for (Scheduler& scheduler : schedulers_) {
            if (scheduler.next_event() > now) continue;
            if (Scheduler::Slot* slot = scheduler.pick(now)) execute(scheduler, *slot, now);
        }
        update_next_issue();
    }
    void clear() {
        ctas_.clear();
        free_warps_.clear();
        for (auto warp = warps_.rbegin(); warp != warps_.rend(); ++warp) {
            warp->scoreboard = Scoreboard{};
            free_warps_.push_back(&*warp);
        }
        for (Scheduler& scheduler : schedulers_) scheduler.clear();
        next_issue_ = next_retirement_ = kNever;
    }

    // Earliest cycle at which an instruction can issue or a CTA can retire.
    Cycles next_event() const { return std::min(next_issue_, next_retirement_); }
    Cycles next_retirement() const { return next_retirement_; }
    uint64_t instructions() const { return instructions_; }  // of threads, since construction
    // Adds the waiting cycles of the running launch.
    void add_waited(WaitCycles& sums) const {
        for (const Scheduler& scheduler : schedulers_) {
            for (size_t i = 0; i < kWaits; ++i) sums[i] += scheduler.waited()[i];
        }
    }
    // A CTA with a warp that waits at a barrier; null if there is none.
    const ResidentCta* waiting_cta() const {
        for (const auto& cta : ctas_) {
            if (cta->waiting > 0) return cta.get();
        }
        return nullptr;
    }

private:
    // Effects of issuing one warp instruction.
    void execute(Scheduler& scheduler, Scheduler::Slot& slot, Cycles now) {
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
    void prefetch(const Warp& warp, const Step& step) const {
        if (step.reach != Reach::lines) return;
        if (step.count > 4) return __builtin_prefetch(warp.accesses);
        for (uint32_t i = 0; i < step.count; ++i) memory_.prefetch(id_, warp.accesses[i].line);
    }
    // Returns when the warp may issue again; results go to the scoreboard.
    Cycles act(const Operation& operation, Warp& warp, const Step& step, Cycles now) {
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
    Cycles access_memory(const Operation& operation, const Warp& warp, const Step& step, Cycles now) {
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
    Cycles access_shared(const BankPasses& banks, Cycles now) {
        ++counters_.shared_accesses;
        counters_.shared_bank_conflicts += banks.conflicts;
        occupy_load_store_unit(now, banks.passes);
        return now + config_.shared_latency + banks.passes - 1;
    }
    // The SM's schedulers share it: one line, or one pass through the banks of shared memory, a cycle.
    void occupy_load_store_unit(Cycles now, uint64_t passes) {
        for (Scheduler& scheduler : schedulers_) scheduler.occupy(static_cast<uint8_t>(Unit::memory), now + passes);
    }
    void end_warp(Warp& warp, bool exited) {
        ResidentCta& cta = *warp.cta;
        --cta.running;
        if (!exited) ++cta.never_exit;
        cta.done_at = std::max(cta.done_at, warp.results_at);
        if (cta.running == 0) next_retirement_ = std::min(next_retirement_, cta.done_at);
    }
    // The barrier opens when every warp that has not exited waits at it. A warp whose instructions end without an EXIT
    // never comes: the launch then cannot go on, and the GPU says so.
    void pass_barrier(ResidentCta& cta, Cycles now) {
        if (cta.waiting == 0 || cta.waiting != cta.running || cta.never_exit > 0) return;
        cta.waiting = 0;
        for (Scheduler& scheduler : schedulers_) scheduler.release(&cta, now + config_.unit(Unit::barrier).latency);
    }
    Scheduler& scheduler_for_next_warp() {
        size_t fewest = 0;
        for (size_t i = 1; i < schedulers_.size(); ++i) {
            if (schedulers_[i].warps() < schedulers_[fewest].warps()) fewest = i;
        }
        return schedulers_[fewest];
    }
    void update_next_issue() {
        next_issue_ = kNever;
        for (const Scheduler& scheduler : schedulers_) next_issue_ = std::min(next_issue_, scheduler.next_event());
    }

    const GpuConfig& config_;
    const Program& program_;
    MemorySystem& memory_;
    Counters& counters_;
    const uint32_t id_;
    uint64_t residency_ = 0;  // CTAs of the running launch that fit
    std::vector<std::unique_ptr<ResidentCta>> ctas_;
    std::vector<Scheduler> schedulers_;
    std::vector<Warp> warps_;
    std::vector<Warp*> free_warps_;
    uint64_t instructions_ = 0;
    Cycles next_issue_ = kNever, next_retirement_ = kNever;
};

}  // namespace kernelpoint::fast_model
