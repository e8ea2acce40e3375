#include "simulators/macsim/cores/training.h"

#include <algorithm>

#include "kernelpoint/draws.hpp"
#include "simulators/macsim/cores/core_model.h"
#include "simulators/macsim/cores/sm_footprint.h"

namespace kernelpoint::replay::macsim {
namespace {

std::vector<CtaWarps> ctas_of(const LaunchCode& code) {
    std::vector<CtaWarps> ctas;
    for (uint32_t first = 0, end = 0; first < code.warps.size(); first = end) {
        while (end < code.warps.size() && code.warps[end].cta == code.warps[first].cta) ++end;
        ctas.push_back({first, end - first});
    }
    return ctas;
}

uint32_t most_warps(const std::vector<CtaWarps>& ctas) {
    uint32_t most = 1;
    for (const CtaWarps& cta : ctas) most = std::max(most, cta.count);
    return most;
}

// Code lines at which warps begin, and to which branches lead them, for each SM.
std::vector<std::vector<uint64_t>> fetched_lines(const LaunchCode& code, const std::vector<CtaWarps>& ctas,
                                                 size_t sms) {
    std::vector<LineSet> used(sms, LineSet(1, 1024));
    for (size_t c = 0; c < ctas.size(); ++c)
        for (uint32_t w = ctas[c].first; w < ctas[c].first + ctas[c].count; ++w) {
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

Outcome Training::last_outcome(uint32_t trace) const {
    const auto known = outcomes_.find(trace);
    return known == outcomes_.end() ? Outcome{} : known->second;
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
    const std::vector<CtaWarps> ctas = ctas_of(code);
    if (fetched_.count(trace) == 0) fetched_[trace] = fetched_lines(code, ctas, sms_.size());
    const CtasRun run =
        run_ctas(code, ctas, ctas_at_once(info_.residency, most_warps(ctas)), info_.caches, sms_, last_level_, clock_);
    outcomes_[trace] = {run.cycles, run.mispredictions, run.accesses};
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
