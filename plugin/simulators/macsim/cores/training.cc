#include "simulators/macsim/cores/training.h"

#include <algorithm>

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

// Of State::settled: the trace changed nothing twice in a row, the second time with caches that the first has filled.
uint32_t settled_at(uint32_t changes) {
    return 2 * changes + 2;
}

}  // namespace

uint64_t Training::State::bytes() const {
    uint64_t sum = last_level.bytes() + settled.size() * sizeof(uint32_t);
    for (const SmState& sm : sms) sum += sm.predictor.counters.size() + sm.l1.bytes() + sm.instructions.bytes();
    return sum;
}

Training::Training(const SmInfo& sms, uint64_t memory_bytes, uint64_t trajectory)
    : info_(sms), most_bytes_(memory_bytes), beginning_(sms), present_(sms) {
    Draws draws(trajectory);
    for (SmState& state : beginning_.sms) state.phase = draws.below(4);
    beginning_.clock.cycle = draws.below(1 << 16);
    present_ = beginning_;
}

const std::vector<SmState>& Training::before(uint64_t launch, size_t traces,
                                             const std::function<uint32_t(uint64_t)>& trace_of, const CodeOf& code_of) {
    start_near(launch);
    present_.settled.resize(traces * present_.sms.size());
    while (present_.launch < launch) {
        const uint32_t trace = trace_of(present_.launch);
        const uint32_t* settled = &present_.settled[trace * present_.sms.size()];
        const bool all = std::equal(present_.changes.begin(), present_.changes.end(), settled,
                                    [](uint32_t changes, uint32_t at) { return at == settled_at(changes); });
        const LaunchCode* code = all ? nullptr : code_of(trace);
        if (all || code != nullptr) pass(trace, code);
        if (++present_.launch % spacing_ == 0) keep();
    }
    return present_.sms;
}

Outcome Training::last_outcome(uint32_t trace) const {
    const auto known = outcomes_.find(trace);
    return known == outcomes_.end() ? Outcome{} : known->second;
}

void Training::start_near(uint64_t launch) {
    const State* from = launch < present_.launch ? &beginning_ : &present_;
    for (const State& kept : kept_)
        if (kept.launch <= launch && kept.launch > from->launch) from = &kept;
    if (from != &present_) present_ = *from;
}

void Training::keep() {
    if (!kept_.empty() && kept_.back().launch >= present_.launch) return;
    kept_.push_back(present_);
    while (kept_.size() > 1 && kept_.size() * present_.bytes() > most_bytes_) {
        spacing_ *= 2;
        kept_.erase(std::remove_if(kept_.begin(), kept_.end(),
                                   [this](const State& state) { return state.launch % spacing_ != 0; }),
                    kept_.end());
    }
}

void Training::pass(uint32_t trace, const LaunchCode* code) {
    const size_t sms = present_.sms.size();
    uint32_t* settled = &present_.settled[trace * sms];
    if (code == nullptr) {
        for (size_t sm = 0; sm < sms; ++sm) fetch(trace, sm);
        return;
    }
    const std::vector<CtaWarps> ctas = ctas_of(*code);
    if (fetched_.count(trace) == 0) fetched_[trace] = fetched_lines(*code, ctas, sms);
    const CtasRun run = run_ctas(*code, ctas, ctas_at_once(info_.residency, most_warps(ctas)), info_.caches,
                                 present_.sms, present_.last_level, present_.clock);
    outcomes_[trace] = {run.cycles, run.mispredictions, run.accesses};
    for (size_t sm = 0; sm < sms; ++sm) {
        present_.changes[sm] += run.learned[sm];
        const uint32_t twice = settled_at(present_.changes[sm]), once = twice - 1;
        settled[sm] = run.learned[sm] ? 0 : settled[sm] >= once ? twice : once;
    }
}

void Training::fetch(uint32_t trace, size_t sm) {
    for (const uint64_t line : fetched_[trace][sm]) {
        present_.sms[sm].instructions.use(line);
        present_.last_level.use(code_line(line * kFetchBytes));
    }
}

}  // namespace kernelpoint::replay::macsim
