#include "native/replay/replay.h"

#include <unordered_set>

namespace kernelpoint::replay {

Replay::Replay(const Launches& launches, const StateInfo& state, uint64_t memory_bytes, FootprintStore store)
    : state_(state),
      history_(launches, state.with_copies),
      footprints_(history_.sources(), state.sms.residency, state.by_sm, memory_bytes, std::move(store)),
      ctas_before_(1, 0),
      ctas_of_(history_.sources(), -1) {
    if (state.sms.predictor.history_bits == 0 || history_.launches() == 0) return;
    const auto refuse = [this](uint32_t trace, const std::string& path, const std::string& reason) {
        footprints_.refuse(trace, path, reason);
    };
    const SmStateProvider& provider = sm_state_provider(history_.path(history_.trace_of(0)));
    sms_ = provider.follow(history_, state.sms, state.trained, memory_bytes, refuse);
}

Replayed Replay::before(uint64_t launch) {
    uint64_t unreadable = 0;
    const auto read = [this](uint32_t trace) -> const std::vector<LineTouch>& {
        return footprints_.touches(trace, history_.path(trace));
    };
    const auto touches_of = [&](uint32_t trace) -> const std::vector<LineTouch>& {
        const std::vector<LineTouch>& touches = read(trace);
        unreadable += footprints_.is_unreadable(trace);
        return touches;
    };
    history_.walk(launch, state_.lines, touches_of, walk_);
    if (state_.first_reads && !walk_.covered) history_.put_first_reads(launch, read, walk_);
    const uint64_t ctas = state_.counts_ctas ? ctas_before(launch) : 0;
    set_grids(launch);
    std::vector<PredictorState> predictors;
    if (sms_ != nullptr) predictors = sms_->before(launch);
    if (sms_ != nullptr && state_.by_sm) sms_->set_fetches(walk_.touches);
    return {walk_.touches, walk_.launches, unreadable, ctas, grids_, walk_.covered, std::move(predictors)};
}

std::vector<uint64_t> Replay::lines_left(uint64_t launch, uint64_t most) {
    const auto touches_of = [this](uint64_t of) -> const std::vector<LineTouch>& {
        return footprints_.touches(history_.trace_of(of), history_.path(history_.trace_of(of)));
    };
    std::unordered_set<uint64_t> lines;
    for (const LineTouch& touch : touches_of(launch)) lines.insert(touch.line);
    std::vector<uint64_t> counts(1, lines.size());
    std::unordered_set<uint32_t> met;
    uint64_t left = 0, touched = 0;
    for (uint64_t earlier = launch; earlier > 0 && launch - earlier < most; counts.push_back(left)) {
        if (!met.insert(history_.trace_of(--earlier)).second) continue;
        const std::vector<LineTouch>& touches = touches_of(earlier);
        for (auto touch = touches.rbegin(); touch != touches.rend() && touched < state_.lines; ++touch, ++touched)
            left += lines.erase(touch->line);
    }
    return counts;
}

// Back to where each SM was given a CTA.
void Replay::set_grids(uint64_t launch) {
    grids_.clear();
    if (!state_.counts_ctas) return;
    for (uint64_t ctas = 0; launch > 0 && ctas < state_.sms.residency.sms; ctas += grids_.back().ctas) {
        const uint32_t trace = history_.trace_of(--launch);
        grids_.push_back(footprints_.grid(trace, history_.path(trace)));
    }
}

// From the grid in each trace's header: nothing else of a trace is read for it.
uint64_t Replay::ctas_before(uint64_t launch) {
    while (ctas_before_.size() <= launch) {
        const uint32_t trace = history_.trace_of(ctas_before_.size() - 1);
        int64_t& ctas = ctas_of_[trace];
        if (ctas < 0) {
            try {
                ctas = static_cast<int64_t>(open_trace(history_.path(trace))->header().grid.count());
            } catch (const TraceError&) {
                ctas = 0;
            }
        }
        ctas_before_.push_back(ctas_before_.back() + static_cast<uint64_t>(ctas));
    }
    return ctas_before_[launch];
}

}  // namespace kernelpoint::replay
