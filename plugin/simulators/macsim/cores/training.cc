#include "simulators/macsim/cores/training.h"

#include <algorithm>

#include "kernelpoint/draws.hpp"
#include "simulators/macsim/cores/core_model.h"

namespace kernelpoint::replay::macsim {
namespace {

// Code lines at which warps begin, and to which branches lead them, for each SM.
std::vector<std::vector<uint64_t>> fetched_lines(const LaunchCode& code, size_t sms) {
    std::vector<LineSet> used(sms, LineSet(1, 1024));
    for (size_t c = 0; c < code.ctas.size(); ++c)
        for (uint32_t w = code.ctas[c].first; w < code.ctas[c].first + code.ctas[c].count; ++w) {
            bool fetches = true;
            for (uint32_t i = code.warps[w].first; i < code.warps[w].first + code.warps[w].count; ++i) {
                if (fetches) used[c % sms].use(code.instructions[i].pc / kFetchBytes);
                fetches = leads_elsewhere(code.instructions[i].action);
            }
        }
    std::vector<std::vector<uint64_t>> lines;
    for (const LineSet& own : used) lines.push_back(own.lines());
    return lines;
}

// Of Training::settled_: the trace changed nothing twice in a row, the second time with caches that the first has
// filled.
uint32_t settled_at(uint32_t changes) {
    return 2 * changes + 2;
}

}  // namespace

uint64_t ctas_at_once(const Residency& residency, uint64_t warps) {
    const uint64_t most = residency.ctas_of_sm(warps, 0, 0);
    return most == UINT32_MAX ? 1 : most;
}

Training::Training(const SmInfo& info, size_t traces, uint64_t trajectory)
    : info_(info),
      sms_(std::max<uint32_t>(info.residency.sms, 1), SmState(info)),
      last_level_(info.caches.last_level_sets, info.caches.last_level_ways),
      changes_(sms_.size(), 0),
      settled_(traces * sms_.size()) {
    Draws draws(trajectory);
    for (SmState& sm : sms_) sm.phase = draws.below(4);
    clock_.cycle = draws.below(1 << 16);
}

Counts Training::last_outcome(uint32_t trace) const {
    const auto known = outcomes_.find(trace);
    return known == outcomes_.end() ? Counts{} : known->second;
}

void Training::pass(uint32_t trace, const CodeOf& code_of) {
    const bool all = std::equal(changes_.begin(), changes_.end(), &settled_[trace * sms_.size()],
                                [](uint32_t changes, uint32_t at) { return at == settled_at(changes); });
    if (all) {
        for (size_t sm = 0; sm < sms_.size(); ++sm) fetch(trace, sm);
    } else if (const LaunchCode* code = code_of(trace)) {
        run(trace, *code);
    }
}

void Training::run(uint32_t trace, const LaunchCode& code) {
    if (fetched_.count(trace) == 0) fetched_[trace] = fetched_lines(code, sms_.size());
    uint32_t warps = 1;
    for (const CtaWarps& cta : code.ctas) warps = std::max(warps, cta.count);
    const CtasRun run = run_ctas(code, ctas_at_once(info_.residency, warps), info_.caches, sms_, last_level_, clock_);
    outcomes_[trace] = run.counts;
    for (size_t sm = 0; sm < sms_.size(); ++sm) {
        changes_[sm] += run.learned[sm];
        const uint32_t twice = settled_at(changes_[sm]), once = twice - 1;
        uint32_t& settled = settled_[trace * sms_.size() + sm];
        settled = run.learned[sm] ? 0 : settled >= once ? twice : once;
    }
}

void Training::fetch(uint32_t trace, size_t sm) {
    for (const uint64_t line : fetched_[trace][sm]) {
        sms_[sm].instructions.use(line);
        last_level_.use(code_line(line * kFetchBytes));
    }
}

}  // namespace kernelpoint::replay::macsim
