#include "simulators/macsim/cores/core_model.h"

#include <algorithm>
#include <deque>
#include <queue>

namespace kernelpoint::replay::macsim {
namespace {

constexpr uint64_t kFirstFetch = 3;  // cycles from a launch's beginning to the first fetches

// Room for a CTA on a core.
struct Room {
    uint64_t cycle;  // of the clock
    uint64_t order;  // of the core in this cycle
    uint32_t core;
    bool operator>(const Room& other) const { return cycle != other.cycle ? cycle > other.cycle : order > other.order; }
};

// CTA n begins on core n modulo their number where that has room; the others wait for room on any core. In each cycle
// cores take turns, beginning with the one behind the number of the cycle. A launch begins in the cycle in which the
// one before it ends: cores whose turn is over then begin a cycle later.
class Cores {
public:
    Cores(const LaunchCode& code, uint64_t at_once, std::vector<SmState>& sms, LineSet& last_level, const Clock& clock)
        : at_once_(at_once), clock_(clock), last_level_{last_level, {}} {
        for (SmState& sm : sms) cores_.emplace_back(code, sm, last_level_);
        for (uint32_t i = 0; i < cores_.size(); ++i) {
            first_.push_back(clock.cycle + kFirstFetch - cores_[i].fetches_at() +
                             (order(i, clock.cycle) < order(clock.core, clock.cycle)));
            cores_[i].begin_in(first_[i]);
        }
    }

    void run(const std::vector<CtaWarps>& ctas) {
        for (size_t i = 0; i < ctas.size(); ++i) {
            Core& own = cores_[i % cores_.size()];
            own.running() < at_once_ ? own.begin(ctas[i]) : waiting_.push_back(ctas[i]);
        }
        while (!waiting_.empty()) step(earliest());
        for (uint32_t i = 0; i < cores_.size(); ++i)
            while (!cores_[i].is_idle()) step(i);
    }

    CtasRun outcome(Clock& clock) {
        CtasRun all;
        uint32_t last = 0;
        for (uint32_t i = 0; i < cores_.size(); ++i) {
            Core& core = cores_[i];
            all.learned.push_back(core.has_learned());
            all.mispredictions += core.mispredictions();
            all.accesses.add(core.accesses());
            if (end(i) > end(last)) last = i;
        }
        for (uint32_t i = 0; i < cores_.size(); ++i) cores_[i].stop(i == last);
        clock = {std::max(end(last), clock_.cycle), last};
        all.cycles = clock.cycle - clock_.cycle;
        return all;
    }

private:
    uint64_t order(uint32_t core, uint64_t cycle) const {
        return (core + cores_.size() - (cycle + 1) % cores_.size()) % cores_.size();
    }

    uint64_t end(uint32_t core) const { return cores_[core].end() == 0 ? 0 : first_[core] + cores_[core].end(); }

    uint32_t earliest() const {
        uint32_t best = 0;
        for (uint32_t i = 1; i < cores_.size(); ++i)
            if (first_[i] + cores_[i].now() < first_[best] + cores_[best].now()) best = i;
        return best;
    }

    void step(uint32_t core) {
        for (const uint64_t at : cores_[core].issue_turn())
            rooms_.push({first_[core] + at, order(core, first_[core] + at), core});
        while (!waiting_.empty() && !rooms_.empty() && rooms_.top().cycle <= first_[core] + cores_[core].fetches_at()) {
            const Room room = rooms_.top();
            rooms_.pop();
            cores_[room.core].begin_at(room.cycle - first_[room.core], waiting_.front());
            waiting_.pop_front();
        }
        cores_[core].fetch_turn();
    }

    const uint64_t at_once_;
    const Clock clock_;
    LastLevel last_level_;
    std::deque<Core> cores_;
    std::vector<uint64_t> first_;  // cycle of the clock in which a core's cycles begin
    std::deque<CtaWarps> waiting_;
    std::priority_queue<Room, std::vector<Room>, std::greater<Room>> rooms_;
};

}  // namespace

CtasRun run_ctas(const LaunchCode& code, const std::vector<CtaWarps>& ctas, uint64_t at_once, std::vector<SmState>& sms,
                 LineSet& last_level, Clock& clock) {
    Cores cores(code, at_once, sms, last_level, clock);
    cores.run(ctas);
    return cores.outcome(clock);
}

}  // namespace kernelpoint::replay::macsim
