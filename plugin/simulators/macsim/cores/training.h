// The branch predictors that a list of launches leaves trained.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "kernelpoint/draws.hpp"
#include "native/replay/footprint.h"
#include "simulators/macsim/cores/core_model.h"
#include "simulators/macsim/cores/core_state.h"
#include "simulators/macsim/cores/warp_code.h"

namespace kernelpoint::replay::macsim {

// Result of a launch in the model of the cores.
struct Outcome {
    uint64_t cycles = 0, mispredictions = 0;
    Accesses accesses;
};

// State of all SMs before a launch. Predictors learn during the whole run, so all earlier launches are passed, once, in
// their order; states on the way are kept, within a bound on memory, for launches asked about later. A trace that left
// all SMs' predictors as they were twice in a row is passed over until one of them changes; only its fetches count
// then.
class Training {
public:
    // Instructions of a trace, or NULL where it cannot be read; they live until the next call.
    using CodeOf = std::function<const LaunchCode*(uint32_t trace)>;

    // Makes the state at the beginning of a list. `trajectory` chooses its initial phases and cycle; 0 is that of
    // replay, and all are equally likely.
    Training(const SmInfo& sms, uint64_t memory_bytes, uint64_t trajectory = 0);

    // State of each SM before launch `launch`. `trace_of(i)` is the trace of launch i, below `traces`.
    const std::vector<SmState>& before(uint64_t launch, size_t traces,
                                       const std::function<uint32_t(uint64_t)>& trace_of, const CodeOf& code_of);

    // Result of the latest launch of a trace; zeros if there was none.
    Outcome last_outcome(uint32_t trace) const;
    const LineSet& last_level() const { return present_.last_level; }
    const std::vector<SmState>& beginning() const { return beginning_.sms; }

private:
    struct State {
        uint64_t launch = 0;  // the next one
        std::vector<SmState> sms;
        Clock clock;
        LineSet last_level;
        std::vector<uint32_t> changes;  // of each SM's predictor, counted
        std::vector<uint32_t>
            settled;  // [trace, SM]: 2 `changes` + the times that the trace changed nothing there, up to 2
        explicit State(const SmInfo& info)
            : sms(std::max<uint32_t>(info.residency.sms, 1), SmState(info)),
              last_level(info.caches.last_level_sets, info.caches.last_level_ways),
              changes(sms.size(), 0) {}
        uint64_t bytes() const;
    };

    void start_near(uint64_t launch);
    void keep();
    void pass(uint32_t trace, const LaunchCode* code);
    void fetch(uint32_t trace, size_t sm);

    const SmInfo info_;
    const uint64_t most_bytes_;
    State beginning_, present_;
    std::deque<State> kept_;
    // Lines that each SM fetches of a trace, in the order of their last use.
    std::unordered_map<uint32_t, std::vector<std::vector<uint64_t>>> fetched_;
    std::unordered_map<uint32_t, Outcome> outcomes_;  // by trace
    uint64_t spacing_ = 64;                           // launches between states that are kept
};

}  // namespace kernelpoint::replay::macsim
