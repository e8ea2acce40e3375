// The plugin as a host in C++11 or later sees it: every call checked, every failure one clear message. Header only.
//
//     kernelpoint::Client client(&kernelpoint::stop_run);
//     client.open("kernelpoint.yaml", host);
//     kernelpoint::Position at;                       // in the list; one for each process
//     while (client.next_to_simulate(&at, trace_of) == KP_OK) { simulate launch at.launch; client.complete(...); }
//     kp_summary summary = client.finish();
//
// The hooks in simulators and the embedded host are all made of this class.
#pragma once

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "loader.h"
#include "printable.hpp"

namespace kernelpoint {

// Says why, unless a command has, and ends the process with exit code 1, without the host's destructors: the journal is
// on disk.
inline void stop_run(const std::string& why) {
    std::cout.flush();
    fflush(stdout);
    if (!why.empty()) fprintf(stderr, "kernelpoint: %s\n", printable(why).c_str());
    fflush(stderr);
    _exit(1);
}

// Unpacks a configuration that is a pack, and sets the configuration and the trace list of the pack. False if the
// configuration is no pack. Ends the process if the pack cannot be unpacked.
inline bool unpack(std::string* config, std::string* list) {
    if (!kp_is_pack(config->c_str())) return false;
    char path[PATH_MAX];
    kp_unpack(config->c_str(), path, sizeof(path));
    if (path[0] == '\0') stop_run(kp_is_privileged() ? *config + " is not unpacked with another user's rights" : "");
    *list = path;
    *config = list->substr(0, list->rfind('/') + 1) + "kernelpoint.yaml";
    return true;
}

// A struct of the ABI that states its size and is zero otherwise.
template <typename Struct>
inline Struct sized() {
    Struct made;
    memset(&made, 0, sizeof(made));
    made.size = sizeof(made);
    return made;
}

// True where some simulated launch has seen what an estimate counts, or the traces determine it.
inline bool is_seen(const kp_estimate& e, bool all_simulated) {
    return e.simulated != 0 || all_simulated || e.half_width == 0;
}

// True where an estimate may stand as an amount of its own, which scripts take for a count: its half-width is at most a
// quarter of it, and it was seen; or it is 0 in each simulated launch, and so in three quarters of all at least.
inline bool is_known(const kp_estimate& e, bool all_simulated) {
    if ((e.flags & KP_ESTIMATE_UNMET) != 0) return true;
    return std::isfinite(e.estimate) && is_seen(e, all_simulated) && !(e.half_width > 0.25 * std::fabs(e.estimate));
}

// True where an estimate says something: one that was not seen is no plain 0, it needs a half-width.
inline bool is_told(const kp_estimate& e, bool all_simulated) {
    return std::isfinite(e.estimate) && (is_seen(e, all_simulated) || std::isfinite(e.half_width));
}

// For Host::config_hash: FNV-1a of the options that identify the simulated GPU, as 16 hexadecimal digits.
inline std::string hash_of(const std::string& options) {
    uint64_t hash = 14695981039346656037ull;
    for (size_t i = 0; i < options.size(); ++i)
        hash = (hash ^ static_cast<unsigned char>(options[i])) * 1099511628211ull;
    char digits[17];
    snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(hash));
    return digits;
}

// One application of a host: its trace list on disk (empty where there is none to read) and its number of launches.
struct Process {
    std::string list;
    uint64_t launches;  // 0: not known
};

// Description of a host by itself; see kp_host_info.
struct Host {
    std::string simulator, version, config_hash;
    std::string configuration;  // the simulated GPU's options as text; empty: not stated
    uint32_t flags = 0;
    std::vector<Process> processes;
    uint64_t state_lines = 0;
    uint32_t sms = 0, ctas_per_sm = 0, warps_per_sm = 0, registers_per_sm = 0, shared_memory_per_sm = 0;
    uint32_t predictor_history_bits = 0, predictor_counter_bits = 0;
    std::vector<const char*> counter_names;    // of every result's counters; counts with KP_HOST_NAMES_COUNTERS
    std::vector<kp_description> descriptions;  // of the launches of all processes in their order; empty: none
    std::string not_replayed;                  // options under which state is kept that replay does not put back
    std::vector<uint32_t> architectures;       // whose code the simulator knows; empty: not stated
    kp_log_fn log = NULL;
    void* log_user = NULL;
    std::string plugin;  // where the plugin is, if the host knows; empty: to be found
};

// Position of a host in the list of one process.
struct Position {
    explicit Position(uint32_t its_process = 0) : process(its_process), launch(KP_BEFORE_FIRST) {
        decision = sized<kp_decision>();
    }

    uint32_t process;
    uint64_t launch;       // in flight, or asked about last
    kp_decision decision;  // of that launch
};

class Client {
public:
    // Told why a call failed, or why the run cannot go on; must not return: it throws, or ends the process.
    typedef void (*Fail)(const std::string& why);

    explicit Client(Fail fail) : m_fail(fail), m_session(NULL) {}

    bool is_open() const { return m_session != NULL; }

    // Finds and opens the plugin, then a session.
    void open(const std::string& config, const Host& host) {
        char problem[KP_MESSAGE_SIZE];
        if (kp_load(&m_api, host.plugin.c_str(), problem) != 0) m_fail(problem);
        std::vector<const char*> lists;
        for (size_t i = 0; i < host.processes.size(); ++i) {
            lists.push_back(host.processes[i].list.empty() ? NULL : host.processes[i].list.c_str());
            m_launches.push_back(host.processes[i].launches);
        }
        kp_host_info info = sized<kp_host_info>();
        info.abi_version = KP_ABI_VERSION;
        info.simulator = host.simulator.c_str();
        info.version = host.version.c_str();
        info.config_hash = host.config_hash.c_str();
        info.flags = host.flags;
        info.process_count = static_cast<uint32_t>(lists.size());
        info.list_paths = lists.data();
        info.launch_counts = m_launches.data();
        info.state_lines = host.state_lines;
        info.sms = host.sms;
        info.ctas_per_sm = host.ctas_per_sm;
        info.warps_per_sm = host.warps_per_sm;
        info.registers_per_sm = host.registers_per_sm;
        info.shared_memory_per_sm = host.shared_memory_per_sm;
        info.predictor_history_bits = host.predictor_history_bits;
        info.predictor_counter_bits = host.predictor_counter_bits;
        info.counter_count = static_cast<uint32_t>(host.counter_names.size());
        info.counter_names = host.counter_names.data();
        info.descriptions = host.descriptions.empty() ? NULL : host.descriptions.data();
        info.description_count = host.descriptions.size();
        info.not_replayed = host.not_replayed.empty() ? NULL : host.not_replayed.c_str();
        info.architectures = host.architectures.data();
        info.architecture_count = host.architectures.size();
        info.log = host.log;
        info.log_user = host.log_user;
        info.configuration = host.configuration.empty() ? NULL : host.configuration.c_str();
        check(m_api.open(config.c_str(), &info, &m_session));
    }

    // Moves to the next launch to simulate, in this pass or in the next one; `trace_of(launch)` is its trace's path.
    // KP_OK: there is one, and its decision is made | KP_PENDING: the pass ends when the launches that are in flight
    // elsewhere are completed or aborted | KP_DONE: nothing is left for this process.
    template <typename TraceOf>
    kp_status next_to_simulate(Position* at, const TraceOf& trace_of) {
        return next_to_simulate(at, trace_of, [](uint64_t) {});
    }

    // The same for a host with KP_HOST_EXECUTES: `execute(launch)` runs a launch functionally. Launch 0 begins the
    // program, whether it is to be executed or simulated.
    template <typename TraceOf, typename Execute>
    kp_status next_to_simulate(Position* at, const TraceOf& trace_of, const Execute& execute) {
        for (;;) {
            uint64_t next = KP_NO_LAUNCH;
            const kp_status status = m_api.next(m_session, at->process, at->launch, &next);
            check(status);
            if (status != KP_OK) return status;
            check_launch(at->process, next);
            at->launch = next;
            at->decision = decide(at->process, next, trace_of(next));
            if (at->decision.action == KP_SIMULATE) return KP_OK;
            if (at->decision.action == KP_EXECUTE) execute(next);
        }
    }

    kp_decision decide(uint32_t process, uint64_t launch, const std::string& trace) {
        kp_launch asked = sized<kp_launch>();
        asked.process = process;
        asked.index = launch;
        asked.trace_path = trace.empty() ? NULL : trace.c_str();
        kp_decision decision = sized<kp_decision>();
        check(m_api.on_launch(m_session, &asked, &decision));
        return decision;
    }

    // State that the launches before one leave in the simulator; the touches live until the next call.
    kp_replay replay_before(const Position& at) {
        kp_replay replay = sized<kp_replay>();
        check(m_api.replay_before(m_session, at.process, at.launch, &replay));
        return replay;
    }

    // True if the launch in flight is to be stopped inside.
    bool wants_stop(const kp_progress& progress) {
        uint32_t action = KP_CONTINUE;
        check(m_api.on_progress(m_session, &progress, &action));
        return action == KP_STOP;
    }

    // The launch in flight at a position is simulated; flags: KP_RESULT_*.
    void complete(const Position& at, uint64_t cycles, uint64_t instructions, const std::vector<kp_counter>& counters,
                  uint32_t flags = 0) {
        kp_result result = sized<kp_result>();
        result.process = at.process;
        result.index = at.launch;
        result.flags = flags;
        result.cycles = cycles;
        result.instructions = instructions;
        result.counter_count = static_cast<uint32_t>(counters.size());
        result.counters = counters.data();
        check(m_api.on_complete(m_session, &result));
    }

    // The launch in flight at a position could not be simulated.
    void abort(const Position& at, const std::string& reason) {
        check(m_api.on_abort(m_session, at.process, at.launch, reason.c_str()));
    }

    kp_summary finish() {
        kp_summary summary = sized<kp_summary>();
        check(m_api.finish(m_session, &summary));
        return summary;
    }

    // After finish: the counts of one process, and the estimates of the run or of one process.
    kp_process counts(uint32_t process) {
        kp_process counts = sized<kp_process>();
        check(m_api.process_summary(m_session, process, &counts));
        return counts;
    }
    std::vector<kp_estimate> estimates(const kp_summary& summary) {
        return estimates(KP_ALL_PROCESSES, summary.estimate_count);
    }
    std::vector<kp_estimate> estimates(uint32_t process) { return estimates(process, counts(process).estimate_count); }

    // After finish: what a launch is estimated to cost.
    kp_cost cost(uint32_t process, uint64_t launch) {
        kp_cost cost = sized<kp_cost>();
        check(m_api.launch_estimate(m_session, process, launch, &cost));
        return cost;
    }

    // The kernel's name as the plugin knows it; empty where it does not.
    std::string name(uint32_t process, uint64_t launch) {
        const char* known = NULL;
        check(m_api.launch_name(m_session, process, launch, &known));
        return known != NULL ? known : "";
    }

private:
    std::vector<kp_estimate> estimates(uint32_t process, uint32_t count) {
        std::vector<kp_estimate> all(count, sized<kp_estimate>());
        for (uint32_t i = 0; i < count; ++i) check(m_api.estimate_at(m_session, process, i, &all[i]));
        return all;
    }

    void check_launch(uint32_t process, uint64_t launch) {
        const uint64_t count = m_launches[process];
        if (count != 0 && launch >= count)
            m_fail("the plugin asks for launch " + std::to_string(launch) + "; allowed: 0 to " +
                   std::to_string(count - 1));
    }

    void check(kp_status status) {
        if (status < 0) m_fail(m_api.last_error());
    }

    const Fail m_fail;
    kp_api m_api;
    kp_session* m_session;
    std::vector<uint64_t> m_launches;  // of each process; 0: not known
};

}  // namespace kernelpoint
