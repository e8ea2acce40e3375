#include "fast_model/list/recurring_states.h"

#include <utility>

namespace kernelpoint::fast_model {
namespace {

constexpr uint64_t kBytesOfAStep = 128;     // in the maps
constexpr size_t kMostPassed = 1ull << 16;  // steps that L2 lags behind; each keeps its outcome

}  // namespace

void CacheHash::replace(uint32_t set, StreamHash present) {
    StreamHash& kept = of_set_[set];
    sum_.high += present.high - kept.high;
    sum_.low += present.low - kept.low;
    kept = present;
}

StreamHash CacheHash::update(const Cache& cache, const std::vector<SetChange>& changed) {
    if (of_set_.empty()) {
        sum_ = {};
        of_set_.resize(cache.sets());
        for (uint32_t set = 0; set < cache.sets(); ++set) replace(set, cache.hash_of_set(set));
    } else {
        for (const SetChange& change : changed) replace(change.set, cache.hash_of_set(change.set));
    }
    return sum_;
}

Outcomes::Shared RecurringStates::pass(uint64_t step) {
    if (!of_l2_) return nullptr;
    const auto known = known_.find({passed_.empty() ? *of_l2_ : passed_.back().after, step});
    if (known == known_.end()) return nullptr;
    if (passed_.size() == kMostPassed && place_.count(known->second.after) == 0) return nullptr;
    go_to(known->second);
    return known->second.outcome;
}

void RecurringStates::go_to(Passed passed) {
    const bool back_at_l2 = passed.after == *of_l2_;
    const auto met = place_.find(passed.after);
    if (!back_at_l2 && met == place_.end()) {
        place_[passed.after] = passed_.size();
        passed_.push_back(std::move(passed));
        return;
    }
    const size_t left = back_at_l2 ? 0 : met->second + 1;
    for (; passed_.size() > left; passed_.pop_back()) place_.erase(passed_.back().after);
}

void RecurringStates::catch_up(Cache& l2) {
    for (const Passed& passed : passed_) {
        l2.apply(passed.outcome->change);
        hash_.update(l2, passed.outcome->change.sets);
    }
    if (!passed_.empty()) of_l2_ = passed_.back().after;
    passed_.clear();
    place_.clear();
}

void RecurringStates::learn(uint64_t step, Outcomes::Shared outcome, const Cache& l2) {
    forget_if_full();
    const StreamHash after = hash_.update(l2, outcome->change.sets);
    if (of_l2_) {
        if (outcomes_.insert(outcome->number).second) bytes_ += outcome->change.bytes();
        bytes_ += kBytesOfAStep;
        known_[{*of_l2_, step}] = {after, std::move(outcome)};
    }
    of_l2_ = after;
}

void RecurringStates::forget_if_full() {
    if (bytes_ <= most_bytes_) return;
    known_.clear();
    outcomes_.clear();
    bytes_ = 0;
}

void RecurringStates::lose_state() {
    hash_.reset();
    of_l2_.reset();
    passed_.clear();
    place_.clear();
}

}  // namespace kernelpoint::fast_model
