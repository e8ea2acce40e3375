// Replay of what the launches before one leave in the state that a simulator keeps between launches (functional
// warming: Wunderlich et al., SMARTS, ISCA 2003; found from the end: memory reference reuse latency, Haskins and
// Skadron 2003).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "native/replay/footprint.h"
#include "native/replay/history.h"
#include "native/replay/sm_states.h"

namespace kernelpoint::replay {

// Store of packed footprints beyond this process. It is also told which traces cannot be read.
struct FootprintStore {
    std::function<bool(const std::string& path, std::string& packed)> load;
    std::function<void(const std::string& path, const std::string& packed)> save;
    std::function<void(const std::string& path, const std::string& reason)> refuse;  // once for each trace
};

// Reads the footprint of a trace. `by_sm`: keep the accesses of each SM apart (SmStateProvider). Throws TraceError.
Footprint read_footprint(const std::string& trace_path, const Residency& residency, bool by_sm);

// The footprints of a list's traces, read at the first use and kept packed within a bound on memory.
class FootprintCache {
public:
    FootprintCache(size_t traces, const Residency& residency, bool by_sm, uint64_t memory_bytes, FootprintStore store)
        : residency_(residency),
          by_sm_(by_sm),
          most_bytes_(memory_bytes),
          store_(std::move(store)),
          unreadable_(traces, false),
          grids_(traces) {}

    // Memory accesses of a trace, none if it cannot be read; valid until the next call.
    const std::vector<LineTouch>& touches(uint32_t trace, const std::string& path) {
        if (const auto kept = kept_.find(trace); kept != kept_.end()) {
            unpack(kept->second, present_);
            return present_.touches;
        }
        std::string packed;
        if (unreadable_[trace] || (!(store_.load(path, packed) && unpack(packed, present_)) && !read(trace, path, packed)))
            present_ = {};
        else
            keep(trace, std::move(packed));
        grids_[trace] = present_.grid;
        return present_.touches;
    }
    // CTAs of a trace, none if it cannot be read.
    const Grid& grid(uint32_t trace, const std::string& path) {
        if (!grids_[trace]) touches(trace, path);
        return *grids_[trace];
    }
    // Marks a trace as unreadable, as another reader found.
    void refuse(uint32_t trace, const std::string& path, const std::string& reason) {
        if (unreadable_[trace]) return;
        unreadable_[trace] = true;
        store_.refuse(path, reason);
    }
    bool is_unreadable(uint32_t trace) const { return unreadable_[trace]; }
    uint64_t bytes() const { return bytes_; }

private:
    bool read(uint32_t trace, const std::string& path, std::string& packed) {
        try {
            present_ = read_footprint(path, residency_, by_sm_);
        } catch (const TraceError& error) {
            refuse(trace, path, error.what());
            return false;
        }
        packed = pack(present_);
        store_.save(path, packed);
        return true;
    }
    void keep(uint32_t trace, std::string packed) {
        if (packed.size() > most_bytes_) return;
        if (bytes_ + packed.size() > most_bytes_) {
            kept_.clear();
            bytes_ = 0;
        }
        bytes_ += packed.size();
        kept_.emplace(trace, std::move(packed));
    }

    const Residency residency_;
    const bool by_sm_;
    const uint64_t most_bytes_;
    const FootprintStore store_;
    std::unordered_map<uint32_t, std::string> kept_;  // packed, by trace
    std::vector<bool> unreadable_;
    std::vector<std::optional<Grid>> grids_;  // of the traces met so far
    uint64_t bytes_ = 0;
    Footprint present_;
};

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
    Replay(const Launches& launches, const StateInfo& state, uint64_t memory_bytes, FootprintStore store)
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

    uint64_t launches() const { return history_.launches(); }
    uint64_t memory() const { return footprints_.bytes(); }
    Replayed before(uint64_t launch) {
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
    // Number of lines that a launch touches, and of those among them that the launch right before it, the two, and so
    // on to the `most` right before it leave in the state. Model: copies in between leave all of them.
    std::vector<uint64_t> lines_left(uint64_t launch, uint64_t most) {
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

private:
    // From the grid in each trace's header: nothing else of a trace is read for it.
    uint64_t ctas_before(uint64_t launch) {
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
    // Back to where each SM was given a CTA.
    void set_grids(uint64_t launch) {
        grids_.clear();
        if (!state_.counts_ctas) return;
        for (uint64_t ctas = 0; launch > 0 && ctas < state_.sms.residency.sms; ctas += grids_.back().ctas) {
            const uint32_t trace = history_.trace_of(--launch);
            grids_.push_back(footprints_.grid(trace, history_.path(trace)));
        }
    }

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
