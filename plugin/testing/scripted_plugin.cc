// A plugin without Python whose decisions stand in a script: the file that the host names as its configuration. For the
// tests of hosts; it keeps the contract of abi.h as a session does, and breaks it where the script says so. Lines of a
// script: script.h.
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

#include "kernelpoint/abi.h"
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

void log_open(kp_session* s, const kp_host_info* info) {
    s->log << "open " << info->simulator << " flags " << info->flags << " hash " << info->config_hash << std::endl;
    s->log << "state lines " << info->state_lines << " sms " << info->sms << " ctas_per_sm " << info->ctas_per_sm
           << " warps_per_sm " << info->warps_per_sm << " registers_per_sm " << info->registers_per_sm << " shared "
           << info->shared_memory_per_sm;
    if (info->not_replayed != nullptr) s->log << " not replayed: " << info->not_replayed;
    s->log << std::endl;
    if (info->predictor_history_bits != 0)
        s->log << "predictor " << info->predictor_history_bits << " " << info->predictor_counter_bits << std::endl;
    s->log << "counters";
    for (uint32_t i = 0; i < info->counter_count; ++i) s->log << " " << info->counter_names[i];
    s->log << std::endl;
    for (uint32_t p = 0; p < info->process_count; ++p)
        s->log << "process " << p << " launches " << s->launches[p] << " list "
               << (info->list_paths != nullptr && info->list_paths[p] != nullptr ? info->list_paths[p] : "none")
               << std::endl;
    for (uint64_t i = 0; i < info->description_count; ++i) log_description(s, info->descriptions[i]);
    if (!s->message.empty()) info->log(info->log_user, s->message.c_str());
}

void add_counters(kp_session* s, const kp_result* result) {
    s->counter_names.resize(result->counter_count);
    s->counter_sums.resize(result->counter_count);
    for (uint32_t i = 0; i < result->counter_count; ++i) {
        s->log << " " << result->counters[i].name << " " << result->counters[i].value;
        s->counter_names[i] = result->counters[i].name;
        s->counter_sums[i] += result->counters[i].value;
    }
}

}  // namespace

extern "C" {

uint32_t kp_abi_version(void) {
    return KP_ABI_VERSION;
}

const char* kp_last_error(void) {
    return g_error.c_str();
}

kp_status kp_open(const char* config_path, const kp_host_info* info, kp_session** session) {
    std::ifstream script(config_path);
    if (!script) return refuse(KP_ECONFIG, std::string("cannot read ") + config_path);
    kp_session* s = new kp_session(read_script(script));  // lives as long as the process, as every session does
    if (fails(s, "open")) return KP_ECONFIG;
    s->executes = (info->flags & KP_HOST_EXECUTES) != 0;
    s->launches.assign(info->launch_counts, info->launch_counts + info->process_count);
    s->log.open(std::string(config_path) + ".log");
    log_open(s, info);
    *session = s;
    return KP_OK;
}

kp_status kp_next(kp_session* s, uint32_t process, uint64_t after, uint64_t* next) {
    *next = KP_NO_LAUNCH;
    if (fails(s, "next")) return KP_EFAILED;
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

kp_status kp_on_launch(kp_session* s, const kp_launch* launch, kp_decision* decision) {
    if (fails(s, "launch")) return KP_EFAILED;
    const Unit unit(launch->process, launch->index);
    const bool wanted = s->pass < s->passes.size() && s->passes[s->pass].count(unit) != 0 && is_open(s, unit);
    const bool simulate = (wanted && s->skipped.count(unit) == 0) || s->in_flight.count(unit) != 0;
    s->log << (wanted || !s->executes ? "launch " : "execute ") << text_of(unit) << " pass " << s->pass << " "
           << (launch->trace_path != nullptr ? launch->trace_path : "none") << std::endl;
    (simulate ? s->in_flight : s->finished).insert(unit);
    decision->action = simulate ? KP_SIMULATE : s->executes ? KP_EXECUTE : KP_SKIP;
    decision->pass = static_cast<uint32_t>(s->pass);
    decision->progress_interval = s->interval;
    decision->state = s->replays_all || s->replays.count(unit) != 0 ? KP_STATE_REPLAYED : KP_STATE_KEPT;
    decision->uncounted = s->uncounted.count(unit) != 0 ? 1 : 0;
    const bool skips = s->skips_all_latencies || s->skipped_latencies.count(unit) != 0;
    decision->latency = skips ? KP_LATENCY_SKIPPED : KP_LATENCY_SIMULATED;
    return KP_OK;
}

kp_status kp_replay_before(kp_session* s, uint32_t process, uint64_t index, kp_replay* replay) {
    if (fails(s, "replay")) return KP_EFAILED;
    s->replayed.clear();
    for (const auto& left : s->touches)
        if (left.first.first == process && left.first.second < index)
            s->replayed.insert(s->replayed.end(), left.second.begin(), left.second.end());
    for (const auto& ctas : s->ctas)
        if (ctas.first.first == process && ctas.first.second < index) replay->earlier_ctas += ctas.second;
    const std::vector<kp_grid>& grids = s->grids[{process, index}];
    replay->grid_count = grids.size();
    replay->grids = grids.data();
    replay->launches = index;
    replay->touch_count = s->replayed.size();
    replay->touches = s->replayed.data();
    s->predicting.clear();
    for (const Predictor& one : s->predictors[{process, index}])
        s->predicting.push_back({one.history, static_cast<uint32_t>(one.counters.size()), one.counters.data()});
    replay->predictor_count = s->predicting.size();
    replay->predictors = s->predicting.data();
    s->log << "replay " << text_of({process, index}) << " touches " << s->replayed.size() << std::endl;
    return KP_OK;
}

kp_status kp_on_progress(kp_session* s, const kp_progress* p, uint32_t* action) {
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

kp_status kp_on_complete(kp_session* s, const kp_result* result) {
    if (fails(s, "complete")) return KP_EFAILED;
    const Unit unit(result->process, result->index);
    if (s->in_flight.erase(unit) == 0) return refuse(KP_EINVAL, "result of " + text_of(unit) + ", not in flight");
    const bool stopped = (result->flags & KP_RESULT_STOPPED) != 0;
    s->finished.insert(unit);
    s->stopped += stopped;
    s->log << "complete " << text_of(unit) << " flags " << result->flags << " cycles " << result->cycles
           << " instructions " << result->instructions;
    add_counters(s, result);
    s->log << std::endl;
    const auto projected = s->projections.find(unit);
    s->results[unit] = {static_cast<double>(result->cycles), static_cast<double>(result->instructions)};
    if (stopped && projected != s->projections.end()) s->results[unit] = projected->second;
    return KP_OK;
}

kp_status kp_on_abort(kp_session* s, uint32_t process, uint64_t index, const char* reason) {
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

kp_status kp_launch_estimate(kp_session* s, uint32_t process, uint64_t index, kp_cost* cost) {
    const Unit unit(process, index);
    const Cost found = cost_of(s, unit);
    const uint32_t flags = s->results.count(unit) != 0 ? uint32_t{KP_COST_SIMULATED} : 0;
    const auto done = s->done.find(unit);
    const bool has = done != s->done.end();
    s->launch_counters.assign(s->counter_names.size(), has ? done->second.counter : 0);
    const uint32_t count = has ? static_cast<uint32_t>(s->launch_counters.size()) : 0;
    *cost = {cost->size, flags, found.cycles, found.instructions, count, has ? s->launch_counters.data() : nullptr};
    return KP_OK;
}

kp_status kp_launch_name(kp_session* s, uint32_t process, uint64_t index, const char** name) {
    const auto found = s->names.find({process, index});
    *name = found != s->names.end() ? s->keep(found->second) : nullptr;
    return KP_OK;
}

kp_status kp_finish(kp_session* s, kp_summary* summary) {
    if (fails(s, "finish")) return KP_EFAILED;
    uint64_t launches = 0;
    for (const uint64_t count : s->launches) launches += count;
    const uint64_t simulated = s->results.size();
    const auto passes = static_cast<uint32_t>(s->passes.size());
    if (!s->in_flight.empty()) s->flags |= KP_SUMMARY_NO_BOUND;
    *summary = {summary->size,
                s->flags,
                launches,
                simulated,
                launches - simulated,
                s->stopped,
                passes,
                static_cast<uint32_t>(estimates_of(s, KP_ALL_PROCESSES).size()),
                0.95,
                2.0,
                3.0};
    s->log << "finish" << std::endl;
    return KP_OK;
}

kp_status kp_process_summary(kp_session* s, uint32_t process, kp_process* counts) {
    if (process >= s->launches.size()) return refuse(KP_EINVAL, "no process " + std::to_string(process));
    const uint64_t simulated = simulated_in(s, process);
    *counts = {counts->size, static_cast<uint32_t>(estimates_of(s, process).size()), s->launches[process], simulated,
               s->launches[process] - simulated};
    return KP_OK;
}

kp_status kp_estimate_at(kp_session* s, uint32_t process, uint32_t index, kp_estimate* estimate) {
    const std::vector<kp_estimate> all = estimates_of(s, process);
    if (index >= all.size()) return refuse(KP_EINVAL, "no estimate " + std::to_string(index));
    const uint32_t size = estimate->size;
    *estimate = all[index];
    estimate->size = size;
    estimate->name = s->keep(all[index].name);
    return KP_OK;
}

}  // extern "C"
