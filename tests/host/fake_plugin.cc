// A plugin without policy: plays the script that it is given as its configuration and writes down what it is told.
//
//     log FILE            where the calls are written, one a line
//     pass INDEX...       the launches that this pass wants; one line per pass
//     skip INDEX...       launches answered with KP_SKIP
//     interval CYCLES     progress interval of every launch
//     stop_at CYCLES      KP_STOP from then on
//     pending COUNT       so many KP_PENDING before the end of each pass
//     no_bound, degraded  flags of the summary
//     fail CALL           "open", "next", "launch", "complete", "progress", "abort" or "finish" fails
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernelpoint/abi.h"

struct kp_session {
    std::ofstream log;
    std::vector<std::vector<uint64_t>> passes;
    std::set<uint64_t> skipped;
    std::string failing;
    uint32_t interval = 0, flags = 0;
    uint64_t stop_at = UINT64_MAX, pending = 0, pendings_left = 0, simulated = 0;
    double cycles = 0;
    size_t pass = 0, position = 0;
    kp_estimate estimates[2];
};

namespace {

kp_session session;

// An environment variable that the test sets to learn whether this library was opened at all.
__attribute__((constructor)) void opened() {
    if (const char* path = std::getenv("FAKE_PLUGIN_OPENED")) std::ofstream(path) << "opened\n";
}

void read_line(const std::string& word, std::istringstream& rest) {
    uint64_t number;
    std::string text;
    if (word == "log" && rest >> text) session.log.open(text, std::ios::app);
    if (word == "pass") {
        session.passes.emplace_back();
        while (rest >> number) session.passes.back().push_back(number);
    }
    while (word == "skip" && rest >> number) session.skipped.insert(number);
    if (word == "interval") rest >> session.interval;
    if (word == "stop_at") rest >> session.stop_at;
    if (word == "pending") rest >> session.pending;
    if (word == "fail") rest >> session.failing;
    if (word == "no_bound") session.flags |= KP_SUMMARY_NO_BOUND;
    if (word == "degraded") session.flags |= KP_SUMMARY_DEGRADED;
}

bool fails(const char* call) {
    return session.failing == call;
}

}  // namespace

extern "C" {

uint32_t kp_abi_version() {
    return KP_ABI_VERSION;
}
const char* kp_last_error() {
    return "the script says so";
}

kp_status kp_open(const char* config_path, const kp_host_info* info, kp_session** opened_session) {
    std::ifstream script(config_path);
    if (!script) return KP_ECONFIG;
    for (std::string line, word; std::getline(script, line);) {
        std::istringstream rest(line);
        rest >> word;
        read_line(word, rest);
    }
    if (fails("open")) return KP_ECONFIG;
    session.pendings_left = session.pending;
    session.log << "open " << info->simulator << " launches " << info->launch_counts[0] << " hash " << info->config_hash
                << " flags " << info->flags << std::endl;
    *opened_session = &session;
    return KP_OK;
}

kp_status kp_next(kp_session* s, uint32_t, uint64_t, uint64_t* next) {
    *next = KP_NO_LAUNCH;
    if (fails("next")) return KP_EFAILED;
    while (s->pass < s->passes.size() && s->position == s->passes[s->pass].size()) {
        if (s->pendings_left > 0) return --s->pendings_left, KP_PENDING;
        ++s->pass;
        s->position = 0;
        s->pendings_left = s->pending;
    }
    if (s->pass == s->passes.size()) return KP_DONE;
    *next = s->passes[s->pass][s->position++];
    return KP_OK;
}

kp_status kp_on_launch(kp_session* s, const kp_launch* launch, kp_decision* decision) {
    if (fails("launch")) return KP_EFAILED;
    decision->action = s->skipped.count(launch->index) ? KP_SKIP : KP_SIMULATE;
    decision->pass = static_cast<uint32_t>(s->pass);
    decision->progress_interval = s->interval;
    const std::string path = launch->trace_path;
    s->log << "launch " << launch->index << " " << path.substr(path.rfind('/') + 1) << std::endl;
    return KP_OK;
}

kp_status kp_on_progress(kp_session* s, const kp_progress* progress, uint32_t* action) {
    if (fails("progress")) return KP_EINVAL;
    s->log << "progress " << progress->index << " cycles " << progress->cycles << " ctas " << progress->ctas_issued
           << " " << progress->ctas_completed << " " << progress->ctas_total << std::endl;
    *action = progress->cycles >= s->stop_at ? KP_STOP : KP_CONTINUE;
    return KP_OK;
}

kp_status kp_on_complete(kp_session* s, const kp_result* result) {
    if (fails("complete")) return KP_EFAILED;
    s->log << "complete " << result->index << " cycles " << result->cycles << " instructions " << result->instructions
           << " flags " << result->flags;
    for (uint32_t i = 0; i < result->counter_count; ++i) {
        s->log << " " << result->counters[i].name << " " << result->counters[i].value;
    }
    s->log << std::endl;
    ++s->simulated;
    s->cycles += static_cast<double>(result->cycles);
    return KP_OK;
}

kp_status kp_on_abort(kp_session* s, uint32_t, uint64_t index, const char* reason) {
    if (fails("abort")) return KP_EINVAL;
    s->log << "abort " << index << " " << reason << std::endl;
    return KP_OK;
}

kp_status kp_launch_estimate(kp_session*, uint32_t, uint64_t, double*, double*) {
    return KP_EINVAL;
}

kp_status kp_finish(kp_session* s, kp_summary* summary) {
    if (fails("finish")) return KP_EFAILED;
    s->log << "finish" << std::endl;
    const double half_width = s->flags & KP_SUMMARY_NO_BOUND ? __builtin_nan("") : 12.5;
    s->estimates[0] = {"cycles", 2 * s->cycles, half_width, s->cycles};
    s->estimates[1] = {"l2_misses", 7.0, half_width, 7.0};
    summary->flags = s->flags;
    summary->launches = 99;
    summary->simulated = s->simulated;
    summary->skipped = 99 - s->simulated;
    summary->passes = static_cast<uint32_t>(s->passes.size());
    summary->estimate_count = 2;
    summary->confidence = 0.95;
    summary->estimates = s->estimates;
    summary->json = "{}";
    return KP_OK;
}
}
