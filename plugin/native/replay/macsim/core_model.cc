#include "native/replay/macsim/core_model.h"

#include <algorithm>
#include <deque>

namespace kernelpoint::replay::macsim {
namespace {

// CTA n begins on core n modulo their number where that has room; the others wait for room on any core.
class Cores {
public:
    Cores(const LaunchCode& code, uint64_t at_once, std::vector<SmState>& sms, LineSet& last_level, Draws& draws)
        : at_once_(at_once) {
        for (SmState& sm : sms) cores_.emplace_back(code, sm, last_level, schedule_phase(draws));
    }

    void run(const std::vector<CtaWarps>& ctas) {
        for (size_t i = 0; i < ctas.size(); ++i) {
            Core& own = cores_[i % cores_.size()];
            own.running() < at_once_ ? own.begin(ctas[i]) : waiting_.push_back(ctas[i]);
        }
        while (!waiting_.empty()) {
            Core& next = earliest();
            if (next.running() < at_once_) {
                next.begin(waiting_.front());
                waiting_.pop_front();
            } else {
                next.step();
            }
        }
        for (Core& core : cores_)
            while (!core.is_idle()) core.step();
    }

    CtasRun outcome() const {
        CtasRun all;
        for (const Core& core : cores_) {
            all.learned.push_back(core.has_learned());
            all.cycles = std::max(all.cycles, core.now());
            all.mispredictions += core.mispredictions();
        }
        return all;
    }

private:
    Core& earliest() {
        return *std::min_element(cores_.begin(), cores_.end(),
                                 [](const Core& a, const Core& b) { return a.now() < b.now(); });
    }

    const uint64_t at_once_;
    std::deque<Core> cores_;
    std::deque<CtaWarps> waiting_;
};

}  // namespace

CtasRun run_ctas(const LaunchCode& code, const std::vector<CtaWarps>& ctas, uint64_t at_once, std::vector<SmState>& sms,
                 LineSet& last_level, Draws& draws) {
    Cores cores(code, at_once, sms, last_level, draws);
    cores.run(ctas);
    return cores.outcome();
}

}  // namespace kernelpoint::replay::macsim
