#include "fast_model/scheduler.h"

namespace kernelpoint::fast_model {

void Scheduler::add(Warp* warp, Cycles ready_at, uint8_t unit) {
    slots_.push_back({ready_at, warp, unit});
    if (ready_at >= next_event_) return;
    next_event_ = ready_at;
    chosen_ = kNone;
}

Scheduler::Slot* Scheduler::pick(Cycles now) {
    if (chosen_ == kNone || earliest(slots_[chosen_]) > now) {
        choose(now);
        if (next_event_ > now) return nullptr;
    }
    greedy_ = chosen_;
    return &slots_[chosen_];
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
}

void Scheduler::release(const ResidentCta* cta, Cycles now) {
    for (Slot& slot : slots_) {
        if (slot.warp->cta != cta || slot.ready_at != kNever) continue;
        slot.ready_at = std::max(now, slot.warp->scoreboard.operands_ready(program_[slot.warp->next->operation]));
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
}

}  // namespace kernelpoint::fast_model
