// States that a list comes back to: what a step does there is known, and need not be done again.
//
// Numerics: two states are equal if the 128-bit hashes of what L2 holds are (the order of its lines, their valid and
// dirty sectors).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fast_model/cache.h"
#include "fast_model/list/outcomes.h"
#include "native/trace/stream_hash.h"

namespace kernelpoint::fast_model {

// The hash of all that a cache holds, kept up to date by the sets that changed.
class CacheHash {
public:
    void reset() { of_set_.clear(); }
    // `changed`: sets since the last call; ignored after reset(), where all are read.
    StreamHash update(const Cache& cache, const std::vector<SetChange>& changed);

private:
    void replace(uint32_t set, StreamHash present);

    std::vector<StreamHash> of_set_;
    StreamHash sum_;
};

// A step is a launch of a source, or a copy. Steps from known states are passed over: L2 lags behind until a step is
// not known.
class RecurringStates {
public:
    explicit RecurringStates(uint64_t memory_bytes) : most_bytes_(memory_bytes) {}

    // The outcome of a step from the present state; null where it is not known. Then L2 must catch up, and the step be
    // done.
    Outcomes::Shared pass(uint64_t step);
    void catch_up(Cache& l2);
    // A step was done, and L2 is up to date.
    void learn(uint64_t step, Outcomes::Shared outcome, const Cache& l2);
    // L2 was changed by what is no step.
    void lose_state();

private:
    struct Key {
        StreamHash state;
        uint64_t step;
        bool operator==(const Key& other) const { return state == other.state && step == other.step; }
    };
    struct Hash {
        size_t operator()(const StreamHash& state) const { return state.low; }
        size_t operator()(const Key& key) const { return key.state.low ^ key.step * 0x9e3779b97f4a7c15; }
    };
    struct Passed {
        StreamHash after;
        Outcomes::Shared outcome;
    };

    void go_to(Passed passed);
    void forget_if_full();

    const uint64_t most_bytes_;
    CacheHash hash_;
    std::optional<StreamHash> of_l2_;  // unknown before the first step
    std::unordered_map<Key, Passed, Hash> known_;
    std::unordered_set<uint64_t> outcomes_;  // numbers of those in known_
    uint64_t bytes_ = 0;                     // of those
    // From L2's state to the present one, no state twice.
    std::vector<Passed> passed_;
    std::unordered_map<StreamHash, size_t, Hash> place_;  // in passed_
};

}  // namespace kernelpoint::fast_model
