// A plugin without Python whose decisions stand in a script: the file that the host names as its configuration.
//
//     pass 0 3 5       the launches to simulate in the next pass; one line for each pass
//     interval 100     cycles between progress calls
//     stop 3 700       tell launch 3 to stop at the first progress call from cycle 700 on
//     whole 3 900 50   cycles and instructions that launch 3 is projected to have when it was stopped
//     say hello        log this word when the session opens
//     name 3 gemm      the kernel name of launch 3, as if it had been read before
//     estimate 100 10  cycles and instructions of a launch that was not simulated
//
// Every call is logged, one line each, in the script's own path with ".log" behind it. The estimate of a total is the
// sum over simulated launches plus the given estimate for each other launch.
#include <math.h>
#include <stdio.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernelpoint/abi.h"

struct kp_session {
    std::vector<std::vector<uint64_t>> passes;
    uint64_t launches = 0;
    size_t pass = 0;
    uint32_t interval = 0;
    std::map<uint64_t, uint64_t> stops;
    std::map<uint64_t, std::pair<double, double>> projections;
    std::map<uint64_t, std::string> known_names;
    double other_cycles = 0, other_instructions = 0;
    std::vector<std::string> names;
    std::vector<double> sums;
    std::map<uint64_t, std::pair<double, double>> results;
    std::set<uint64_t> in_flight;
    std::vector<kp_estimate> estimates, ratios;
    uint64_t stopped = 0;
    std::ofstream log;
    std::string message;
};

static std::string g_error;

static kp_status refuse(kp_status status, const std::string& why) {
    g_error = why;
    return status;
}

static void read_script(std::ifstream& script, kp_session* s) {
    std::string line, word;
    while (std::getline(script, line)) {
        std::istringstream words(line);
        uint64_t a = 0, b = 0;
        if (!(words >> word)) continue;
        if (word == "pass") {
            s->passes.emplace_back();
            while (words >> a) s->passes.back().push_back(a);
        } else if (word == "interval") {
            words >> s->interval;
        } else if (word == "stop" && words >> a >> b) {
            s->stops[a] = b;
        } else if (word == "whole" && words >> a) {
            words >> s->projections[a].first >> s->projections[a].second;
        } else if (word == "say") {
            words >> s->message;
        } else if (word == "name" && words >> a) {
            words >> s->known_names[a];
        } else if (word == "estimate") {
            words >> s->other_cycles >> s->other_instructions;
        }
    }
}

extern "C" {

uint32_t kp_abi_version(void) {
    return KP_ABI_VERSION;
}

kp_status kp_open(const char* config_path, const kp_host_info* info, kp_session** session) {
    std::ifstream script(config_path);
    if (!script) return refuse(KP_ECONFIG, std::string("cannot read ") + config_path);
    kp_session* s = new kp_session;
    read_script(script, s);
    s->launches = info->launch_counts[0];
    s->log.open(std::string(config_path) + ".log");
    s->log << "open " << info->simulator << " launches " << s->launches << " hash " << info->config_hash << " list "
           << info->list_paths[0] << std::endl;
    if (!s->message.empty()) info->log(info->log_user, s->message.c_str());
    *session = s;
    return KP_OK;
}

kp_status kp_next(kp_session* s, uint32_t, uint64_t after, uint64_t* next) {
    for (; s->pass < s->passes.size(); ++s->pass, after = KP_BEFORE_FIRST)
        for (uint64_t i : s->passes[s->pass])
            if (after == KP_BEFORE_FIRST || (after != KP_END_OF_LIST && i > after)) {
                *next = i;
                return KP_OK;
            }
    *next = KP_NO_LAUNCH;
    return KP_DONE;
}

kp_status kp_on_launch(kp_session* s, const kp_launch* launch, kp_decision* decision) {
    s->log << "launch " << launch->index << " pass " << s->pass << " " << launch->trace_path << std::endl;
    s->in_flight.insert(launch->index);
    decision->action = KP_SIMULATE;
    decision->pass = static_cast<uint32_t>(s->pass);
    decision->progress_interval = s->interval;
    return KP_OK;
}

kp_status kp_on_progress(kp_session* s, const kp_progress* p, uint32_t* action) {
    if (s->in_flight.count(p->index) == 0) return refuse(KP_EINVAL, "not in flight");
    const auto stop = s->stops.find(p->index);
    *action = stop != s->stops.end() && p->cycles >= stop->second ? KP_STOP : KP_CONTINUE;
    s->log << "progress " << p->index << " cycles " << p->cycles << " issued " << p->ctas_issued << " completed "
           << p->ctas_completed << " of " << p->ctas_total << " instructions " << p->instructions << " -> " << *action
           << std::endl;
    return KP_OK;
}

kp_status kp_on_complete(kp_session* s, const kp_result* result) {
    if (s->in_flight.erase(result->index) == 0) return refuse(KP_EINVAL, "not in flight");
    s->log << "complete " << result->index << " flags " << result->flags << " cycles " << result->cycles
           << " instructions " << result->instructions;
    s->stopped += (result->flags & KP_RESULT_STOPPED) != 0;
    s->results[result->index] = {static_cast<double>(result->cycles), static_cast<double>(result->instructions)};
    const auto projected = s->projections.find(result->index);
    if ((result->flags & KP_RESULT_STOPPED) != 0 && projected != s->projections.end())
        s->results[result->index] = projected->second;
    s->sums.resize(result->counter_count);
    s->names.resize(result->counter_count);
    for (uint32_t i = 0; i < result->counter_count; ++i) {
        s->log << " " << result->counters[i].name << " " << result->counters[i].value;
        s->names[i] = result->counters[i].name;
        s->sums[i] += result->counters[i].value;
    }
    s->log << std::endl;
    return KP_OK;
}

kp_status kp_on_abort(kp_session* s, uint32_t, uint64_t index, const char* reason) {
    s->in_flight.erase(index);
    s->log << "abort " << index << " " << reason << std::endl;
    return KP_OK;
}

kp_status kp_launch_estimate(kp_session* s, uint32_t, uint64_t index, double* cycles, double* instructions) {
    const auto found = s->results.find(index);
    *cycles = found != s->results.end() ? found->second.first : s->other_cycles;
    *instructions = found != s->results.end() ? found->second.second : s->other_instructions;
    return KP_OK;
}

kp_status kp_launch_name(kp_session* s, uint32_t, uint64_t index, const char** name) {
    const auto found = s->known_names.find(index);
    *name = found != s->known_names.end() ? found->second.c_str() : NULL;
    return KP_OK;
}

kp_status kp_finish(kp_session* s, kp_summary* summary) {
    double cycles = 0, instructions = 0;
    for (const auto& result : s->results) {
        cycles += result.second.first;
        instructions += result.second.second;
    }
    const double others = static_cast<double>(s->launches - s->results.size());
    s->estimates = {{"cycles", cycles + others * s->other_cycles, 1, cycles},
                    {"instructions", instructions + others * s->other_instructions, 1, instructions}};
    for (size_t i = 0; i < s->names.size(); ++i)
        s->estimates.push_back({s->names[i].c_str(), 2 * s->sums[i], NAN, s->sums[i]});
    summary->flags = 0;
    summary->launches = s->launches;
    summary->simulated = s->results.size();
    summary->skipped = s->launches - s->results.size();
    summary->passes = static_cast<uint32_t>(s->passes.size());
    summary->estimate_count = static_cast<uint32_t>(s->estimates.size());
    summary->confidence = 0.95;
    summary->estimates = s->estimates.data();
    summary->json = "{}";
    s->ratios = {{"ipc", 2, 0.5, 2}};
    summary->ratios = s->ratios.data();
    summary->ratio_count = 1;
    summary->projected = s->stopped;
    s->log << "finish" << std::endl;
    return KP_OK;
}

const char* kp_last_error(void) {
    return g_error.c_str();
}

}  // extern "C"
