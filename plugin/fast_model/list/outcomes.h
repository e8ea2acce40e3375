// Outcomes of simulated launches, to be taken again where a launch of the same trace begins in a state in which the
// very same would happen.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "fast_model/cache.h"
#include "fast_model/counters.h"

namespace kernelpoint::fast_model {

struct Outcome {
    uint64_t cycles = 0, instructions = 0;
    Counters counters;
    StateChange change;          // of L2
    uint64_t number = 0;         // no other outcome has it
    mutable size_t suspect = 0;  // a set of the change that did not fit last time: looked at first
};

// Keeps at most `memory_bytes`, those used last.
class Outcomes {
public:
    using Shared = std::shared_ptr<const Outcome>;

    Outcomes(size_t sources, uint64_t memory_bytes) : most_bytes_(memory_bytes), of_source_(sources) {}

    // The outcome of a source that fits the state of a cache; null where none is known.
    Shared find(uint32_t source, const Cache& state);
    void add(uint32_t source, Shared outcome);
    uint64_t next_number() { return next_number_++; }

private:
    struct Kept {
        uint32_t source;
        Shared outcome;
    };
    using Place = std::list<Kept>::iterator;

    void used(Place place);
    void forget(Place place);

    const uint64_t most_bytes_;
    uint64_t next_number_ = 0, bytes_ = 0;
    std::list<Kept> kept_;                       // the one used last first
    std::vector<std::vector<Place>> of_source_;  // likewise
};

}  // namespace kernelpoint::fast_model
