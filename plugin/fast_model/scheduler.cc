#include "fast_model/scheduler.h"

namespace kernelpoint::fast_model {

void Scheduler::add(Warp* warp, const Step* first, Cycles ready_at) {
    slots_.push_back({ready_at, warp, first, program_[first->operation].unit, Wait::start});
    if (ready_at >= next_event_) return;
    next_event_ = ready_at;
    chosen_ = kNone;
}

void Scheduler::issued(Cycles now, bool ended) {
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

// The warp that can issue first, not before `from`; among equals the greedy one, then the oldest.
void Scheduler::choose(Cycles from) {
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

void Scheduler::release(const ResidentCta* cta, Cycles now) {
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

void Scheduler::clear() {
    slots_.clear();
    unit_free_.fill(0);
    greedy_ = chosen_ = kNone;
    next_event_ = kNever;
    idle_since_ = 0;
    waited_.fill(0);
}

}  // namespace kernelpoint::fast_model
