// A plugin without Python whose decisions stand in a script: the file that the host names as its configuration. For the
// tests of hosts; it keeps the contract of abi.h as a session does, and breaks it where the script says so. Lines of a
// script: script.h.
//
// A function that the environment variable SCRIPTED_PLUGIN_LACKS names is NULL; "state": the extension is not offered.
//
// Every call is logged, one line each, in the script's own path with ".log" behind it; a launch reads as
// process:launch. A launch that was aborted is wanted again in the next pass, once. The estimate of a total is the sum
// over simulated launches plus the given estimate for each other launch; of every other counter it is twice what was
// simulated.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "kernelpoint/state.h"
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

    const char* keep(const std::string& text) { return texts.insert(text).first->c_str(); }
};

namespace kernelpoint::testing {

Cost cost_of(const kp_session* s, const Unit& unit) {
    const auto found = s->results.find(unit);
    return found != s->results.end() ? found->second : s->other;
}

// Cycles and instructions of a process, or of all.
std::vector<kp_estimate> totals_of(const kp_session* s, uint32_t process, double half_width) {
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

std::vector<kp_estimate> estimates_of(const kp_session* s, uint32_t process) {
    if (process != KP_ALL_PROCESSES) return totals_of(s, process, 1.5);
    std::vector<kp_estimate> all = totals_of(s, process, 2.5);
    for (size_t i = 0; i < s->counter_names.size(); ++i) {
        const double sum = s->counter_sums[i];
        const auto bound = s->counter_bounds.find(s->counter_names[i]);
        const bool is_bounded = bound != s->counter_bounds.end();
        const bool is_unmet = is_bounded && std::isinf(bound->second);
        const double half_width = is_unmet ? INFINITY : is_bounded ? bound->second * 2 * sum : NAN;
        const uint32_t flag = is_unmet ? KP_ESTIMATE_UNMET : is_bounded ? KP_ESTIMATE_SAMPLING : 0;
        all.push_back({0, flag, s->counter_names[i].c_str(), 2 * sum, half_width, sum});
    }
    all.push_back({0, KP_ESTIMATE_RATIO, "ipc", all[1].estimate / all[0].estimate, 0.001, NAN});
    return all;
}

uint64_t simulated_in(const kp_session* s, uint32_t process) {
    uint64_t count = 0;
    for (const auto& result : s->results) count += result.first.first == process;
    return count;
}

}  // namespace kernelpoint::testing

using namespace kernelpoint::testing;

namespace {

std::string g_error;

kp_status refuse(kp_status status, const std::string& why) {
    g_error = why;
    return status;
}

bool fails(const kp_session* s, const char* call) {
    g_error = "the script says so";
    return s->failing == call;
}

// A file that the environment names says whether this library was opened at all.
__attribute__((constructor)) void opened() {
    if (const char* path = std::getenv("SCRIPTED_PLUGIN_OPENED")) std::ofstream(path) << "opened\n";
}

bool is_open(const kp_session* s, const Unit& unit) {
    return s->finished.count(unit) == 0 && s->in_flight.count(unit) == 0;
}

// A launch that was aborted once is tried again in the next pass; where there is none, in one more.
void end_pass(kp_session* s) {
    ++s->pass;
    if (!s->aborted.empty() && s->pass == s->passes.size()) s->passes.emplace_back();
    for (const Unit& unit : s->aborted) s->passes[s->pass].insert(unit);
    s->aborted.clear();
    s->finished.clear();
    s->pendings = s->pending;
}

// The first launch of a process behind `after` that this pass wants; false where there is none.
bool find_next(const kp_session* s, uint32_t process, uint64_t after, uint64_t* next) {
    for (const Unit& unit : s->passes[s->pass]) {
        const bool behind = after == KP_BEFORE_FIRST || unit.second > after;
        if (unit.first != process || !behind || !is_open(s, unit)) continue;
        *next = unit.second;
        return true;
    }
    return false;
}

void log_description(kp_session* s, const kp_description& one) {
    s->log << "describe " << (one.name != nullptr ? one.name : "none") << " cost " << one.cost << " key " << one.key;
    for (uint32_t i = 0; i < one.shape_count; ++i) s->log << " " << one.shape[i];
    s->log << std::endl;
}

void log_kept(kp_session* s, const kp_kept* kept) {
    const kp_kept none{};
    if (kept == nullptr) kept = &none;
    s->log << "state lines " << kept->lines << " flags " << kept->flags << " sms " << kept->sms << " ctas_per_sm "
           << kept->ctas_per_sm << " warps_per_sm " << kept->warps_per_sm << " registers_per_sm "
           << kept->registers_per_sm << " shared " << kept->shared_memory_per_sm;
    for (uint32_t i = 0; i < kept->byte_count; ++i)
        s->log << (i == 0 ? " bytes " : " ") << int(static_cast<const uint8_t*>(kept->bytes)[i]);
    if (kept->not_replayed != nullptr) s->log << " not replayed: " << kept->not_replayed;
    s->log << std::endl;
}

void log_open(kp_session* s, const kp_host* host, const kp_kept* kept) {
    s->log << "open " << host->simulator << " flags " << host->flags << " hash " << host->config_hash << std::endl;
    log_kept(s, kept);
    s->log << "counters";
    for (const std::string& name : s->counter_names) s->log << " " << name;
    s->log << std::endl;
    uint64_t launches = 0;
    for (uint32_t p = 0; p < host->process_count; ++p) {
        launches += s->launches[p];
        s->log << "process " << p << " launches " << s->launches[p] << " list "
               << (host->list_paths != nullptr && host->list_paths[p] != nullptr ? host->list_paths[p] : "none")
               << std::endl;
    }
    for (uint64_t i = 0; host->descriptions != nullptr && i < launches; ++i) log_description(s, host->descriptions[i]);
    if (!s->message.empty()) host->log(host->log_user, s->message.c_str());
}

const char* last_error() {
    return g_error.c_str();
}

kp_status open_with_state(const char* config_path, const kp_host* host, const kp_kept* kept, kp_session** session) {
    std::ifstream script(config_path);
    if (!script) return refuse(KP_ECONFIG, std::string("cannot read ") + config_path);
    kp_session* s = new kp_session(read_script(script));  // lives as long as the process, as every session does
    if (fails(s, "open")) return KP_ECONFIG;
    s->executes = (host->flags & KP_HOST_EXECUTES) != 0;
    s->launches.assign(host->launch_counts, host->launch_counts + host->process_count);
    s->counter_names.assign(host->counter_names, host->counter_names + host->counter_count);
    s->counter_sums.resize(host->counter_count);
    s->log.open(std::string(config_path) + ".log");
    log_open(s, host, kept);
    *session = s;
    return KP_OK;
}

kp_status open(const char* config_path, const kp_host* host, kp_session** session) {
    return open_with_state(config_path, host, nullptr, session);
}

// The next launch that may have to be simulated; with KP_HOST_EXECUTES each one up to it.
kp_status find(kp_session* s, uint32_t process, uint64_t after, uint64_t* next) {
    const uint64_t behind = after == KP_BEFORE_FIRST || after == KP_END_OF_LIST ? 0 : after + 1;
    for (; s->pass < s->passes.size(); after = KP_BEFORE_FIRST) {
        if ((after != KP_END_OF_LIST && find_next(s, process, after, next)) ||
            find_next(s, process, KP_BEFORE_FIRST, next)) {
            if (s->executes) *next = behind <= *next ? behind : 0;
            return KP_OK;
        }
        for (const Unit& unit : s->passes[s->pass])
            if (s->finished.count(unit) == 0) return KP_PENDING;
        if (s->pendings > 0) return --s->pendings, KP_PENDING;
        end_pass(s);
    }
    return KP_DONE;
}

void decide(kp_session* s, const Unit& unit, kp_order* order) {
    const bool wanted = s->pass < s->passes.size() && s->passes[s->pass].count(unit) != 0 && is_open(s, unit);
    const bool simulate = (wanted && s->skipped.count(unit) == 0) || s->in_flight.count(unit) != 0;
    s->log << (wanted || !s->executes ? "launch " : "execute ") << text_of(unit) << " pass " << s->pass << std::endl;
    (simulate ? s->in_flight : s->finished).insert(unit);
    order->action = simulate ? KP_SIMULATE : s->executes ? KP_EXECUTE : KP_SKIP;
    order->index = unit.second;
    order->pass = static_cast<uint32_t>(s->pass);
    order->flags = 0;
    order->progress_interval = s->interval;
    if (s->replays_all || s->replays.count(unit) != 0) order->flags |= KP_ORDER_RESTORE;
    if (s->uncounted.count(unit) != 0) order->flags |= KP_ORDER_UNCOUNTED;
    if (s->skips_all_latencies || s->skipped_latencies.count(unit) != 0) order->flags |= KP_ORDER_SKIP_LATENCY;
}

kp_status next(kp_session* s, const kp_position* position, kp_order* order) {
    if (fails(s, "next")) return KP_EFAILED;
    uint64_t index = KP_NO_LAUNCH;
    const kp_status status = find(s, position->process, position->after, &index);
    if (status == KP_OK) decide(s, {position->process, index}, order);
    return status;
}

kp_status before(kp_session* s, uint32_t process, uint64_t index, kp_replay* replay) {
    if (fails(s, "replay")) return KP_EFAILED;
    s->replayed.clear();
    for (const auto& left : s->touches)
        if (left.first.first == process && left.first.second < index)
            s->replayed.insert(s->replayed.end(), left.second.begin(), left.second.end());
    for (const auto& ctas : s->ctas)
        if (ctas.first.first == process && ctas.first.second < index) replay->earlier_ctas += ctas.second;
    const std::vector<kp_grid>& grids = s->grids[{process, index}];
    const std::string& bytes = s->bytes[{process, index}];
    replay->grid_count = grids.size();
    replay->grids = grids.data();
    replay->launches = index;
    replay->touch_count = s->replayed.size();
    replay->touches = s->replayed.data();
    replay->byte_count = bytes.size();
    replay->bytes = bytes.data();
    s->log << "replay " << text_of({process, index}) << " touches " << s->replayed.size() << std::endl;
    return KP_OK;
}

kp_status progress(kp_session* s, const kp_progress* p, uint32_t* action) {
    if (fails(s, "progress")) return KP_EINVAL;
    const Unit unit(p->process, p->index);
    if (s->in_flight.count(unit) == 0) return refuse(KP_EINVAL, "progress of " + text_of(unit) + ", not in flight");
    const auto stop = s->stops.find(unit);
    *action = p->cycles >= (stop != s->stops.end() ? stop->second : s->stop_any) ? KP_STOP : KP_CONTINUE;
    s->log << "progress " << text_of(unit) << " cycles " << p->cycles << " issued " << p->ctas_issued << " completed "
           << p->ctas_completed << " of " << p->ctas_total << " instructions " << p->instructions << " -> " << *action
           << std::endl;
    return KP_OK;
}

kp_status complete(kp_session* s, const kp_result* result) {
    if (fails(s, "complete")) return KP_EFAILED;
    const Unit unit(result->process, result->index);
    if (s->in_flight.erase(unit) == 0) return refuse(KP_EINVAL, "result of " + text_of(unit) + ", not in flight");
    if (result->counter_count != s->counter_names.size()) return refuse(KP_EINVAL, "another number of counters");
    const bool stopped = (result->flags & KP_RESULT_STOPPED) != 0;
    s->finished.insert(unit);
    s->stopped += stopped;
    s->log << "complete " << text_of(unit) << " flags " << result->flags << " cycles " << result->cycles
           << " instructions " << result->instructions;
    for (uint32_t i = 0; i < result->counter_count; ++i) {
        s->log << " " << s->counter_names[i] << " " << result->counters[i];
        s->counter_sums[i] += result->counters[i];
    }
    s->log << std::endl;
    const auto projected = s->projections.find(unit);
    s->results[unit] = {static_cast<double>(result->cycles), static_cast<double>(result->instructions)};
    if (stopped && projected != s->projections.end()) s->results[unit] = projected->second;
    return KP_OK;
}

kp_status abort(kp_session* s, uint32_t process, uint64_t index, const char* reason) {
    if (fails(s, "abort")) return KP_EINVAL;
    const Unit unit(process, index);
    if (s->in_flight.erase(unit) == 0) return refuse(KP_EINVAL, "abort of " + text_of(unit) + ", not in flight");
    s->log << "abort " << text_of(unit) << " " << (reason != nullptr ? reason : "") << std::endl;
    s->finished.insert(unit);
    if (++s->attempts[unit] == 1)
        s->aborted.insert(unit);
    else
        s->flags |= KP_SUMMARY_NO_BOUND;
    s->flags |= KP_SUMMARY_DEGRADED;
    return KP_OK;
}

kp_status finish(kp_session* s, uint32_t process, kp_summary* summary) {
    if (fails(s, "finish")) return KP_EFAILED;
    const bool all = process == KP_ALL_PROCESSES;
    if (!all && process >= s->launches.size()) return refuse(KP_EINVAL, "no process " + std::to_string(process));
    if (!s->in_flight.empty()) s->flags |= KP_SUMMARY_NO_BOUND;
    summary->flags = s->flags;
    for (uint32_t p = 0; p < s->launches.size(); ++p) {
        if (!all && p != process) continue;
        summary->launches += s->launches[p];
        summary->simulated += simulated_in(s, p);
    }
    summary->skipped = summary->launches - summary->simulated;
    summary->projected = s->stopped;
    summary->passes = s->passes.size();
    summary->confidence = 0.95;
    summary->cycle_speedup = 2.0;
    summary->saved_seconds = 3.0;
    if (all) s->log << "finish" << std::endl;
    return KP_OK;
}

kp_status estimate(kp_session* s, uint32_t process, uint32_t index, kp_estimate* estimate) {
    const std::vector<kp_estimate> all = estimates_of(s, process);
    if (index >= all.size()) return KP_DONE;
    const uint32_t size = estimate->size;
    *estimate = all[index];
    estimate->size = size;
    estimate->name = s->keep(all[index].name);
    return KP_OK;
}

kp_status cost(kp_session* s, uint32_t process, uint64_t index, kp_cost* cost) {
    const Unit unit(process, index);
    const Cost amounts = cost_of(s, unit);
    const auto done = s->done.find(unit);
    const bool has = done != s->done.end();
    s->launch_counters.assign(s->counter_names.size(), has ? done->second.counter : 0);
    const auto name = s->names.find(unit);
    *cost = {cost->size,
             s->results.count(unit) != 0 ? uint32_t{KP_COST_SIMULATED} : 0,
             amounts.cycles,
             amounts.instructions,
             has ? s->launch_counters.size() : 0,
             has ? s->launch_counters.data() : nullptr,
             name != s->names.end() ? s->keep(name->second) : nullptr};
    return KP_OK;
}

bool lacks(const char* function) {
    const char* names = std::getenv("SCRIPTED_PLUGIN_LACKS");
    return names != nullptr && std::string(names).find(function) != std::string::npos;
}

const void* extension(const char* name) {
    static const kp_state state = {sizeof(kp_state), open_with_state, before};
    return std::string(name) == KP_STATE && !lacks("state") ? &state : nullptr;
}

}  // namespace

extern "C" const kp_core* kp_connect(uint32_t, const char**) {
    static const kp_core core = {sizeof(kp_core),
                                 KP_ABI_VERSION,
                                 open,
                                 next,
                                 complete,
                                 abort,
                                 finish,
                                 estimate,
                                 last_error,
                                 extension,
                                 lacks("progress") ? nullptr : progress,
                                 lacks("cost") ? nullptr : cost,
                                 nullptr};
    return &core;
}
