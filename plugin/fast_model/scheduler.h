// One warp scheduler of an SM: greedy-then-oldest. It goes on with the warp it issued last as long as that warp can
// issue, else takes the oldest that can.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "fast_model/warp.h"

namespace kernelpoint::fast_model {

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

    void add(Warp* warp, const Step* first, Cycles ready_at);
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
    void issued(Cycles now, bool ended);
    // Blocks a functional unit until a cycle.
    void occupy(uint8_t unit, Cycles until) { unit_free_[unit] = std::max(unit_free_[unit], until); }
    // Releases the CTA's warps from their barrier at `now`.
    void release(const ResidentCta* cta, Cycles now);
    void clear();

    // Earliest cycle at which a warp can issue.
    Cycles next_event() const { return next_event_; }
    size_t warps() const { return slots_.size(); }
    // Cycles that warps of the running launch waited, by reason.
    const WaitCycles& waited() const { return waited_; }

private:
    static constexpr size_t kNone = SIZE_MAX;

    Cycles earliest(const Slot& slot) const { return std::max(slot.ready_at, unit_free_[slot.unit]); }
    void choose(Cycles from);
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

}  // namespace kernelpoint::fast_model
