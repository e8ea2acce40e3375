// Replay of what the launches before one leave in the state that a simulator keeps between launches (functional
// warming: Wunderlich et al., SMARTS, ISCA 2003; found from the end: memory reference reuse latency, Haskins and
// Skadron 2003).
#pragma once

#include <string>
#include <vector>

#include "native/replay/footprint_cache.h"
#include "native/replay/history.h"
#include "native/replay/sm_states.h"

namespace kernelpoint::replay {

struct StateInfo {
    uint64_t lines = 0;        // walks end when so many distinct lines are met
    bool with_copies = false;  // copies from the host fill the state
    bool counts_ctas = false;  // CTAs of all earlier launches, and the grids of the last ones, are wanted
    bool first_reads = false;  // what launches were the first to read is wanted, where a walk is not covered
    SmInfo sms;
    bool by_sm = false;   // touches of each SM are told apart: as the predictor, where a SmStateProvider does so
    std::string trained;  // see SmStateProvider::follow
};

struct Replayed {
    const std::vector<Touch>& touches;  // oldest first; lives until the next call
    uint64_t launches;                  // earlier launches walked over
    uint64_t unreadable;                // of the distinct contents met, those that cannot be read
    uint64_t earlier_ctas;              // of all earlier launches; 0 where not wanted
    const std::vector<Grid>& grids;     // of earlier launches, the last first; lives until the next call
    bool covered;
    std::vector<PredictorState> predictors;  // of each SM; none where they are not wanted; live until the next call
};

class Replay {
public:
    // Makes the replay of a list. Throws TraceError if branch predictors are wanted and the trace format cannot give
    // them.
    Replay(const Launches& launches, const StateInfo& state, uint64_t memory_bytes, FootprintStore store);

    uint64_t launches() const { return history_.launches(); }
    uint64_t memory() const { return footprints_.bytes(); }
    Replayed before(uint64_t launch);
    // Number of lines that a launch touches, and of those among them that the launch right before it, the two, and so
    // on to the `most` right before it leave in the state. Model: copies in between leave all of them.
    std::vector<uint64_t> lines_left(uint64_t launch, uint64_t most);

private:
    uint64_t ctas_before(uint64_t launch);
    void set_grids(uint64_t launch);

    const StateInfo state_;
    History history_;
    FootprintCache footprints_;
    TouchesBefore walk_;
    std::unique_ptr<SmStates> sms_;      // NULL where no predictor is wanted
    std::vector<uint64_t> ctas_before_;  // of the launches asked about so far
    std::vector<int64_t> ctas_of_;       // by content; -1 where not read yet
    std::vector<Grid> grids_;
};

}  // namespace kernelpoint::replay
