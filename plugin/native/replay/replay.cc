#include "native/replay/replay.h"

#include <algorithm>

namespace kernelpoint::replay {

Replay::Replay(const std::string& list_path, const StateInfo& state, uint64_t memory_bytes, FootprintStore store)
    : state_(state),
      history_(read_trace_list(list_path), state.with_copies),
      footprints_(history_.sources(), state.residency, state.by_sm, memory_bytes, std::move(store)),
      training_(state.predictor, state.residency, memory_bytes),
      trained_(state.trained, training_.beginning()),
      codes_(memory_bytes),
      ctas_before_(1, 0),
      ctas_of_(history_.sources(), -1) {}

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
    const std::vector<macsim::SmState>* sms = nullptr;
    if (state_.predictor.history_bits != 0) sms = &trained_before(launch);
    if (sms != nullptr && state_.by_sm) set_fetches(*sms);
    return {walk_.touches, walk_.launches, unreadable, ctas, grids_, walk_.covered, sms};
}

const std::vector<macsim::SmState>& Replay::trained_before(uint64_t launch) {
    is_trained_ = trained_.seek(launch);
    if (is_trained_) return trained_.sms();
    return training_.before(
        launch, history_.sources(), [this](uint64_t at) { return history_.trace_of(at); },
        [this](uint32_t trace) { return code_of(trace); });
}

bool Replay::holds_code(uint64_t address) const {
    return is_trained_ ? trained_.holds_code(address) : training_.last_level().holds(macsim::code_line(address));
}

// Fetches depend on predictors, so the training knows them and the walk does not: the fetches of the walk stand
// for the code in the last level, as far as it got there.
void Replay::set_fetches(const std::vector<macsim::SmState>& sms) {
    std::vector<Touch>& touches = walk_.touches;
    touches.erase(std::remove_if(touches.begin(), touches.end(),
                                 [this](const Touch& touch) {
                                     return touch.path == Path::fetch && !holds_code(touch.line * kLineBytes);
                                 }),
                  touches.end());
    for (Touch& touch : touches)
        if (touch.path == Path::fetch) touch.path = Path::around;
    for (size_t sm = 0; sm < sms.size(); ++sm)
        for (const uint64_t line : sms[sm].instructions.lines()) {
            const uint64_t address = line * macsim::kFetchBytes;
            const auto sector = static_cast<uint8_t>(1u << address % kLineBytes / kSectorBytes);
            touches.push_back(
                {{address / kLineBytes, sector, 0, sector, static_cast<uint16_t>(sm), Path::fetch}, false});
        }
}

const macsim::LaunchCode* Replay::code_of(uint32_t trace) {
    const std::string& path = history_.path(trace);
    return codes_.find(trace, path, [&](const std::string& reason) { footprints_.refuse(trace, path, reason); });
}

// Back to where each SM was given a CTA.
void Replay::set_grids(uint64_t launch) {
    grids_.clear();
    if (!state_.counts_ctas) return;
    for (uint64_t ctas = 0; launch > 0 && ctas < state_.residency.sms; ctas += grids_.back().ctas) {
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
