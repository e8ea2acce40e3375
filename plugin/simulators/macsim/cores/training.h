// The branch predictors that a list of launches leaves trained.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "simulators/macsim/cores/core_model.h"
#include "simulators/macsim/cores/core_state.h"
#include "simulators/macsim/cores/warp_code.h"

namespace kernelpoint::replay::macsim {

// Number of CTAs with `warps` warps each that an SM runs at once, at least 1.
uint64_t ctas_at_once(const Residency& residency, uint64_t warps);

// State of all SMs between the launches of a list, which pass once, in their order: predictors learn during the whole
// run. A trace that left all SMs' predictors as they were twice in a row is passed over until one of them changes; only
// its fetches count then.
class Training {
public:
    // Instructions of a trace, or NULL where it cannot be read; they live until the next call.
    using CodeOf = std::function<const LaunchCode*(uint32_t trace)>;

    // `traces`: distinct ones in the list. `trajectory`: which phases and cycle the list begins with; 0 is that of
    // replay, the others are as likely.
    Training(const SmInfo& info, size_t traces, uint64_t trajectory = 0);

    // Passes the next launch, which is one of this trace.
    void pass(uint32_t trace, const CodeOf& code_of);

    const std::vector<SmState>& sms() const { return sms_; }
    const LineSet& last_level() const { return last_level_; }
    // Of the launch of a trace that was run last; zeros where none was.
    Counts last_outcome(uint32_t trace) const;

private:
    void fetch(uint32_t trace, size_t sm);
    void run(uint32_t trace, const LaunchCode& code);

    const SmInfo info_;
    std::vector<SmState> sms_;
    Clock clock_;
    LineSet last_level_;
    std::vector<uint32_t> changes_;  // of each SM's predictor, counted
    // [trace, SM]: 2 `changes_` + the times that the trace changed nothing there, up to 2
    std::vector<uint32_t> settled_;
    // Lines that each SM fetches of a trace, in the order of their last use.
    std::unordered_map<uint32_t, std::vector<std::vector<uint64_t>>> fetched_;
    std::unordered_map<uint32_t, Counts> outcomes_;  // by trace
};

}  // namespace kernelpoint::replay::macsim
