#include "native/replay/replay.h"

namespace kernelpoint::replay {

Replay::Replay(const std::string& list_path, const StateInfo& state, uint64_t memory_bytes, FootprintStore store)
    : state_(state),
      history_(read_trace_list(list_path), state.with_copies),
      footprints_(history_.sources(), state.residency, memory_bytes, std::move(store)),
      ctas_before_(1, 0),
      ctas_of_(history_.sources(), -1) {}

Replayed Replay::before(uint64_t launch) {
    uint64_t unreadable = 0;
    const auto touches_of = [&](uint32_t trace) -> const std::vector<LineTouch>& {
        const std::vector<LineTouch>& touches = footprints_.touches(trace, history_.path(trace));
        unreadable += footprints_.is_unreadable(trace);
        return touches;
    };
    history_.walk(launch, state_.lines, touches_of, walk_);
    const uint64_t ctas = state_.counts_ctas ? ctas_before(launch) : 0;
    return {walk_.touches, walk_.launches, unreadable, ctas, walk_.covered};
}

// From the grid in each trace's header: nothing else of a trace is read for it.
uint64_t Replay::ctas_before(uint64_t launch) {
    while (ctas_before_.size() <= launch) {
        const uint32_t trace = history_.trace_of(ctas_before_.size() - 1);
        int64_t& ctas = ctas_of_[trace];
        if (ctas < 0) {
            try {
                ctas = static_cast<int64_t>(TraceReader(history_.path(trace)).header().grid.count());
            } catch (const TraceError&) {
                ctas = 0;
            }
        }
        ctas_before_.push_back(ctas_before_.back() + static_cast<uint64_t>(ctas));
    }
    return ctas_before_[launch];
}

}  // namespace kernelpoint::replay
