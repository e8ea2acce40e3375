// Session of a scripted plugin, and the totals that it states.
#pragma once

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "testing/script.h"

struct kp_session : kernelpoint::testing::Script {
    using Unit = kernelpoint::testing::Unit;
    using Cost = kernelpoint::testing::Cost;

    explicit kp_session(const kernelpoint::testing::Script& script)
        : Script(script), pendings(script.pending), results(script.done) {}

    std::ofstream log;
    std::vector<uint64_t> launches;
    size_t pass = 0;
    uint64_t pendings, stopped = 0;
    bool executes = false;                        // KP_HOST_EXECUTES
    std::set<Unit> in_flight, finished, aborted;  // the last two: in this pass
    std::map<Unit, Cost> results;
    std::map<Unit, int> attempts;
    std::vector<std::string> counter_names;
    std::vector<double> counter_sums, launch_counters;
    std::unordered_set<std::string> texts;
    std::vector<kp_touch> replayed;
    std::vector<kp_predictor> predicting;

    const char* keep(const std::string& text) { return texts.insert(text).first->c_str(); }
};

namespace kernelpoint::testing {

inline Cost cost_of(const kp_session* s, const Unit& unit) {
    const auto found = s->results.find(unit);
    return found != s->results.end() ? found->second : s->other;
}

// Cycles and instructions of a process, or of all.
inline std::vector<kp_estimate> totals_of(const kp_session* s, uint32_t process, double half_width) {
    Cost estimate, simulated;
    for (uint32_t p = 0; p < s->launches.size(); ++p)
        for (uint64_t i = 0; i < s->launches[p] && (process == KP_ALL_PROCESSES || process == p); ++i) {
            const Cost cost = cost_of(s, {p, i});
            estimate.cycles += cost.cycles;
            estimate.instructions += cost.instructions;
            if (s->results.count({p, i}) == 0) continue;
            simulated.cycles += cost.cycles;
            simulated.instructions += cost.instructions;
        }
    const double bound = s->flags & KP_SUMMARY_NO_BOUND ? NAN : half_width;
    return {{0, 0, "cycles", estimate.cycles, bound, simulated.cycles},
            {0, 0, "instructions", estimate.instructions, NAN, simulated.instructions}};
}

inline std::vector<kp_estimate> estimates_of(const kp_session* s, uint32_t process) {
    if (process != KP_ALL_PROCESSES) return totals_of(s, process, 1.5);
    std::vector<kp_estimate> all = totals_of(s, process, 2.5);
    for (size_t i = 0; i < s->counter_names.size(); ++i) {
        const double sum = s->counter_sums[i];
        const auto bound = s->counter_bounds.find(s->counter_names[i]);
        const bool is_bounded = bound != s->counter_bounds.end();
        const double half_width = is_bounded ? bound->second * 2 * sum : NAN;
        all.push_back({0, is_bounded ? uint32_t{KP_ESTIMATE_SAMPLING} : 0, s->counter_names[i].c_str(), 2 * sum,
                       half_width, sum});
    }
    all.push_back({0, KP_ESTIMATE_RATIO, "ipc", all[1].estimate / all[0].estimate, 0.001, NAN});
    return all;
}

inline uint64_t simulated_in(const kp_session* s, uint32_t process) {
    uint64_t count = 0;
    for (const auto& result : s->results) count += result.first.first == process;
    return count;
}

}  // namespace kernelpoint::testing
