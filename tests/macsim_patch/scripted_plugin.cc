// A plugin without Python whose decisions stand in a script: the file that the host names as its configuration.
//
//     pass 0:3 1:0     the launches to simulate in the next pass, as process:launch; one line for each pass
//     estimate 100 10  cycles and instructions of a launch that was not simulated
//
// A pass ends when the launches of every process are complete. Every call is logged, one line each, in the script's own
// path with ".log" behind it. The estimate of a total is the sum over simulated launches plus the given estimate for
// each other launch.
#include <math.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernelpoint/abi.h"

typedef std::pair<uint32_t, uint64_t> Unit;  // process, launch

struct Total {
    double simulated = 0, estimate = 0;
};

struct kp_session {
    std::vector<std::set<Unit>> passes;
    std::vector<uint64_t> launches;
    size_t pass = 0;
    double other_cycles = 0, other_instructions = 0;
    std::map<Unit, std::pair<double, double>> results;
    std::map<std::string, double> sums;
    std::set<Unit> in_flight;
    std::vector<std::string> names;
    std::vector<kp_estimate> estimates;
    kp_estimate ratio;
    std::string json;
    std::ofstream log;
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
        if (!(words >> word)) continue;
        if (word == "estimate") words >> s->other_cycles >> s->other_instructions;
        if (word != "pass") continue;
        s->passes.emplace_back();
        uint32_t process = 0;
        uint64_t launch = 0;
        char colon = 0;
        while (words >> process >> colon >> launch) s->passes.back().insert({process, launch});
    }
}

static bool is_over(const kp_session* s) {
    for (const Unit& unit : s->passes[s->pass])
        if (s->results.count(unit) == 0) return false;
    return true;
}

static Total total_of(const kp_session* s, uint32_t process, bool cycles) {
    Total total;
    uint64_t simulated = 0;
    for (const auto& result : s->results) {
        if (result.first.first != process) continue;
        total.simulated += cycles ? result.second.first : result.second.second;
        ++simulated;
    }
    const double others = static_cast<double>(s->launches[process] - simulated);
    total.estimate = total.simulated + others * (cycles ? s->other_cycles : s->other_instructions);
    return total;
}

static std::string json_of(const kp_session* s) {
    std::ostringstream json;
    json << "{\"note\":\"a \\\"quoted\\\" text, with } and ]\",\"processes\":[";
    for (uint32_t p = 0; p < s->launches.size(); ++p) {
        size_t simulated = 0;
        for (const auto& result : s->results) simulated += result.first.first == p;
        const Total cycles = total_of(s, p, true), instructions = total_of(s, p, false);
        json << (p > 0 ? "," : "") << "{\"process\":" << p << ",\"launches\":" << s->launches[p]
             << ",\"simulated\":" << simulated << ", \"estimates\": {\"cycles\": {\"estimate\":" << cycles.estimate
             << ",\"half_width\":1.5,\"simulated\":" << cycles.simulated
             << "},\"instructions\":{\"estimate\":" << instructions.estimate
             << ",\"half_width\":null,\"simulated\":" << instructions.simulated << "}}}";
    }
    json << "]}";
    return json.str();
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
    s->log.open(std::string(config_path) + ".log");
    s->log << "open " << info->simulator << " flags " << info->flags << " hash " << info->config_hash << std::endl;
    for (uint32_t p = 0; p < info->process_count; ++p) {
        s->launches.push_back(info->launch_counts[p]);
        s->log << "process " << p << " launches " << info->launch_counts[p] << " list "
               << (info->list_paths[p] != nullptr ? info->list_paths[p] : "none") << std::endl;
    }
    *session = s;
    return KP_OK;
}

kp_status kp_next(kp_session* s, uint32_t process, uint64_t after, uint64_t* next) {
    *next = KP_NO_LAUNCH;
    bool any = after == KP_BEFORE_FIRST;
    for (; s->pass < s->passes.size(); ++s->pass, any = true) {
        for (int round = 0; round < 2; ++round, any = true)
            for (const Unit& unit : s->passes[s->pass])
                if (unit.first == process && s->results.count(unit) == 0 && s->in_flight.count(unit) == 0 &&
                    (any || (after != KP_END_OF_LIST && unit.second > after))) {
                    *next = unit.second;
                    return KP_OK;
                }
        if (!is_over(s)) return KP_PENDING;
    }
    return KP_DONE;
}

kp_status kp_on_launch(kp_session* s, const kp_launch* launch, kp_decision* decision) {
    s->log << "launch " << launch->process << ":" << launch->index << " pass " << s->pass << " " << launch->trace_path
           << std::endl;
    s->in_flight.insert({launch->process, launch->index});
    decision->action = KP_SIMULATE;
    decision->pass = static_cast<uint32_t>(s->pass);
    decision->progress_interval = 0;
    return KP_OK;
}

kp_status kp_on_progress(kp_session*, const kp_progress*, uint32_t*) {
    return refuse(KP_EINVAL, "MacSim reports no progress");
}

kp_status kp_on_complete(kp_session* s, const kp_result* r) {
    const Unit unit(r->process, r->index);
    if (s->in_flight.erase(unit) == 0) return refuse(KP_EINVAL, "not in flight");
    s->log << "complete " << r->process << ":" << r->index << " cycles " << r->cycles << " instructions "
           << r->instructions;
    s->results[unit] = {static_cast<double>(r->cycles), static_cast<double>(r->instructions)};
    for (uint32_t i = 0; i < r->counter_count; ++i) {
        s->log << " " << r->counters[i].name << " " << r->counters[i].value;
        s->sums[r->counters[i].name] += r->counters[i].value;
    }
    s->log << std::endl;
    return KP_OK;
}

kp_status kp_on_abort(kp_session* s, uint32_t process, uint64_t index, const char* reason) {
    s->in_flight.erase({process, index});
    s->log << "abort " << process << ":" << index << " " << reason << std::endl;
    return KP_OK;
}

kp_status kp_launch_estimate(kp_session* s, uint32_t process, uint64_t index, double* cycles, double* instructions) {
    const auto found = s->results.find({process, index});
    *cycles = found != s->results.end() ? found->second.first : s->other_cycles;
    *instructions = found != s->results.end() ? found->second.second : s->other_instructions;
    return KP_OK;
}

kp_status kp_finish(kp_session* s, kp_summary* summary) {
    Total cycles, instructions;
    uint64_t launches = 0;
    for (uint32_t p = 0; p < s->launches.size(); ++p) {
        const Total c = total_of(s, p, true), i = total_of(s, p, false);
        cycles = {cycles.simulated + c.simulated, cycles.estimate + c.estimate};
        instructions = {instructions.simulated + i.simulated, instructions.estimate + i.estimate};
        launches += s->launches[p];
    }
    for (const auto& sum : s->sums) s->names.push_back(sum.first);
    s->estimates = {{"cycles", cycles.estimate, 2.5, cycles.simulated},
                    {"instructions", instructions.estimate, NAN, instructions.simulated}};
    for (const std::string& name : s->names)
        s->estimates.push_back({name.c_str(), 2 * s->sums[name], NAN, s->sums[name]});
    s->ratio = {"ipc", instructions.estimate / cycles.estimate, 0.001, NAN};
    summary->ratios = &s->ratio;
    summary->ratio_count = 1;
    s->json = json_of(s);
    summary->flags = 0;
    summary->launches = launches;
    summary->simulated = s->results.size();
    summary->skipped = launches - s->results.size();
    summary->passes = static_cast<uint32_t>(s->passes.size());
    summary->estimate_count = static_cast<uint32_t>(s->estimates.size());
    summary->confidence = 0.95;
    summary->estimates = s->estimates.data();
    summary->json = s->json.c_str();
    s->log << "finish" << std::endl;
    return KP_OK;
}

const char* kp_last_error(void) {
    return g_error.c_str();
}

}  // extern "C"
