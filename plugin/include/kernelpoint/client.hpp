// The plugin as a host in C++11 or later sees it: every call checked, every failure one clear message. Header only.
//
//     kernelpoint::Client client(&kernelpoint::stop_run);
//     client.open("kernelpoint.yaml", host);
//     kernelpoint::Position at;                       // in the list; one for each process
//     while (client.next_to_simulate(&at) == KP_OK) { simulate launch at.launch; client.complete(...); }
//     kp_summary summary = client.finish();
//
// The hooks in simulators and the embedded host are all made of this class.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "loader.h"
#include "printable.hpp"
#include "state.h"

namespace kernelpoint {

// Ends the process with exit code 1 and prints why, unless a command has printed it. No destructor of the host runs;
// the journal is on disk.
inline void stop_run(const std::string& why) {
    std::cout.flush();
    fflush(stdout);
    if (!why.empty()) fprintf(stderr, "kernelpoint: %s\n", printable(why).c_str());
    fflush(stderr);
    _exit(1);
}

// Signal handler: prints one line and ends the process by the same signal.
inline void end_interrupted(int signal_number) {
    static const char line[] = "\nkernelpoint: interrupted; the same command goes on\n";
    if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0) _exit(1);
    raise(signal_number);  // SA_RESETHAND: its default action
}

// Installs `end_interrupted` for SIGINT if the process has no handler. A process that ignores SIGINT, or has a
// handler, is left as it is.
inline void announce_interrupt() {
    struct sigaction action;
    if (sigaction(SIGINT, NULL, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) return;
    memset(&action, 0, sizeof(action));
    action.sa_handler = &end_interrupted;
    action.sa_flags = SA_RESETHAND | SA_NODEFER;
    sigaction(SIGINT, &action, NULL);
}

// Called with the reason of a failure; must not return: it throws, or ends the process.
typedef void (*Fail)(const std::string& why);

inline kp_core load_core(const std::string& plugin, Fail fail) {
    kp_core core;
    char problem[KP_MESSAGE_SIZE];
    if (kp_load(&core, plugin.c_str(), problem) != 0) fail(problem);
    return core;
}

// The plugin's functions. It is opened by the first call; `plugin`: its path if the host knows it, else empty.
inline const kp_core& core_of(const std::string& plugin, Fail fail) {
    static const kp_core core = load_core(plugin, fail);
    return core;
}

// Unpacks a configuration that is a pack; sets the paths of its configuration and trace list. False if it is no pack.
inline bool unpack(std::string* config, std::string* list, const std::string& plugin, Fail fail) {
    if (!kp_is_pack(config->c_str())) return false;
    if (kp_is_privileged()) fail(*config + " is not unpacked with another user's rights");
    const kp_core& core = core_of(plugin, fail);
    const char* path = NULL;
    if (core.unpack == NULL) fail(*config + ": the installed KernelPoint unpacks no packs: install a newer one");
    if (core.unpack(config->c_str(), &path) < 0) fail(core.last_error());
    *list = path;
    *config = list->substr(0, list->rfind('/') + 1) + "kernelpoint.yaml";
    return true;
}

// Makes a struct of the ABI with its size set and zeros elsewhere.
template <typename Struct>
inline Struct sized() {
    Struct made;
    memset(&made, 0, sizeof(made));
    made.size = sizeof(made);
    return made;
}

// True if a simulated launch, or the traces, have shown what an estimate counts.
inline bool is_seen(const kp_estimate& e, bool all_simulated) {
    return e.simulated != 0 || all_simulated || e.half_width == 0;
}

// True if an estimate has an upper limit. A plugin that does not know the field leaves 0 in it.
inline bool is_limited(const kp_estimate& e) {
    return std::isfinite(e.at_most) && e.at_most > 0;
}

// True if an estimate is good enough to be printed under the simulator's own name: it was seen, and its half-width is
// at most a quarter of it; or it is 0 with an upper limit.
inline bool is_known(const kp_estimate& e, bool all_simulated) {
    if (e.estimate == 0 && is_limited(e)) return true;
    return std::isfinite(e.estimate) && is_seen(e, all_simulated) && !(e.half_width > 0.25 * std::fabs(e.estimate));
}

// True if an estimate says something: it was seen, or has a half-width or a limit.
inline bool is_told(const kp_estimate& e, bool all_simulated) {
    return std::isfinite(e.estimate) && (is_seen(e, all_simulated) || std::isfinite(e.half_width) || is_limited(e));
}

// The estimate of a name; NULL if there is none.
inline const kp_estimate* find_estimate(const std::vector<kp_estimate>& estimates, const char* name) {
    for (size_t i = 0; i < estimates.size(); ++i)
        if (strcmp(estimates[i].name, name) == 0) return &estimates[i];
    return NULL;
}

// Hash for Host::config_hash: FNV-1a of the options that identify the simulated GPU, 16 hexadecimal digits.
inline std::string hash_of(const std::string& options) {
    uint64_t hash = 14695981039346656037ull;
    for (size_t i = 0; i < options.size(); ++i) hash = (hash ^ static_cast<unsigned char>(options[i])) * 1099511628211ull;
    char digits[17];
    snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(hash));
    return digits;
}

// One application of a host: path of its trace list (empty: none) and number of launches.
struct Process {
    std::string list;
    uint64_t launches;  // 0: not known
};

// Description of a host by itself: the fields of kp_host and kp_kept.
struct Host {
    std::string simulator, version, config_hash;
    std::string configuration;  // the simulated GPU's options as text; empty: not stated
    uint32_t flags = 0;
    std::vector<Process> processes;
    std::vector<const char*> counter_names;    // of every result's counters
    std::vector<kp_description> descriptions;  // of the launches of all processes in their order; empty: none
    std::vector<uint32_t> architectures;       // whose code the simulator knows; empty: not stated
    kp_log_fn log = NULL;
    void* log_user = NULL;
    kp_kept kept = sized<kp_kept>();  // where the simulator keeps state between launches; its texts live till `open`
    std::string plugin;               // where the plugin is, if the host knows; empty: to be found
};

// Position of a host in the launch list of one process.
struct Position {
    explicit Position(uint32_t its_process = 0) : process(its_process), launch(KP_BEFORE_FIRST) { order = sized<kp_order>(); }

    bool restores() const { return (order.flags & KP_ORDER_RESTORE) != 0; }
    bool is_counted() const { return (order.flags & KP_ORDER_UNCOUNTED) == 0; }

    uint32_t process;
    uint64_t launch;  // in flight, or asked about last
    kp_order order;   // of that launch
};

class Client {
public:
    explicit Client(Fail fail) : m_fail(fail), m_session(NULL) {}

    bool is_open() const { return m_session != NULL; }

    // Opens the plugin and a session. From then on Ctrl-C prints how to continue the run.
    void open(const std::string& config, const Host& host) {
        m_core = core_of(host.plugin, m_fail);
        std::vector<const char*> lists;
        for (size_t i = 0; i < host.processes.size(); ++i) {
            lists.push_back(host.processes[i].list.empty() ? NULL : host.processes[i].list.c_str());
            m_launches.push_back(host.processes[i].launches);
        }
        kp_host info = sized<kp_host>();
        info.flags = host.flags;
        info.simulator = host.simulator.c_str();
        info.version = host.version.c_str();
        info.config_hash = host.config_hash.c_str();
        info.configuration = host.configuration.empty() ? NULL : host.configuration.c_str();
        info.process_count = static_cast<uint32_t>(lists.size());
        info.list_paths = lists.data();
        info.launch_counts = m_launches.data();
        info.counter_count = static_cast<uint32_t>(host.counter_names.size());
        info.counter_names = host.counter_names.data();
        info.descriptions = host.descriptions.empty() ? NULL : host.descriptions.data();
        info.architectures = host.architectures.data();
        info.architecture_count = host.architectures.size();
        info.log = host.log;
        info.log_user = host.log_user;
        const bool keeps_state = host.kept.lines != 0 || host.kept.flags != 0 || host.kept.not_replayed != NULL;
        if (keeps_state && kp_extend(&m_core, KP_STATE, &m_state, sizeof(m_state)) == 0)
            check(m_state.open(config.c_str(), &info, &host.kept, &m_session));
        else
            check(m_core.open(config.c_str(), &info, &m_session));
        announce_interrupt();
    }

    // Moves to the next launch to simulate, in this pass or in the next one.
    // KP_OK: there is one | KP_PENDING: the pass ends when the launches that are in flight elsewhere are completed or
    // aborted | KP_DONE: nothing is left for this process.
    kp_status next_to_simulate(Position* at) {
        return next_to_simulate(at, [](uint64_t) {});
    }

    // Moves to the next launch to simulate, for a host with KP_HOST_EXECUTES: `execute(launch)` runs a launch
    // functionally. Launch 0 begins the program, whether it is to be executed or simulated.
    template <typename Execute>
    kp_status next_to_simulate(Position* at, const Execute& execute) {
        for (;;) {
            const kp_status status = next(at, NULL);
            if (status != KP_OK || at->order.action == KP_SIMULATE) return status;
            if (at->order.action == KP_EXECUTE) execute(at->launch);
        }
    }

    // Moves to the next launch that the plugin names, whatever its action. `trace`: of the launch behind `at`, where
    // its process has no list on disk; may be NULL.
    kp_status next(Position* at, const char* trace) {
        kp_position position = sized<kp_position>();
        position.process = at->process;
        position.after = at->launch;
        position.trace_path = trace;
        const kp_status status = m_core.next(m_session, &position, &at->order);
        check(status);
        if (status != KP_OK) return status;
        check_launch(at->process, at->order.index);
        at->launch = at->order.index;
        return KP_OK;
    }

    // Cache contents to restore before a launch; valid until the next call.
    kp_replay replay_before(const Position& at) {
        kp_replay replay = sized<kp_replay>();
        replay.touch_size = sizeof(kp_touch);
        replay.grid_size = sizeof(kp_grid);
        check(m_state.before(m_session, at.process, at.launch, &replay));
        return replay;
    }

    // True if the running launch is to be stopped inside.
    bool wants_stop(const kp_progress& progress) {
        uint32_t action = KP_CONTINUE;
        if (m_core.progress != NULL) check(m_core.progress(m_session, &progress, &action));
        return action == KP_STOP;
    }

    // Reports the result of a launch; counters in the order of Host::counter_names, flags: KP_RESULT_*.
    void complete(const Position& at, uint64_t cycles, uint64_t instructions, const std::vector<double>& counters,
                  uint32_t flags = 0) {
        kp_result result = sized<kp_result>();
        result.process = at.process;
        result.index = at.launch;
        result.flags = flags;
        result.cycles = cycles;
        result.instructions = instructions;
        result.counter_count = static_cast<uint32_t>(counters.size());
        result.counters = counters.data();
        check(m_core.complete(m_session, &result));
    }

    // Reports that a launch could not be simulated.
    void abort(const Position& at, const std::string& reason) {
        check(m_core.abort(m_session, at.process, at.launch, reason.c_str()));
    }

    // Ends the run; returns the summary of the whole run, or the counts of one process.
    kp_summary finish(uint32_t process = KP_ALL_PROCESSES) {
        kp_summary summary = sized<kp_summary>();
        check(m_core.finish(m_session, process, &summary));
        return summary;
    }

    // After finish: estimates of the run, or of one process.
    std::vector<kp_estimate> estimates(uint32_t process = KP_ALL_PROCESSES) {
        std::vector<kp_estimate> all;
        for (;;) {
            kp_estimate estimate = sized<kp_estimate>();
            const kp_status status = m_core.estimate(m_session, process, static_cast<uint32_t>(all.size()), &estimate);
            check(status);
            if (status == KP_DONE) return all;
            all.push_back(estimate);
        }
    }

    // After finish: estimated cost of a launch, and its kernel's name if the plugin knows it.
    kp_cost cost(uint32_t process, uint64_t launch) {
        kp_cost cost = sized<kp_cost>();
        cost.cycles = cost.instructions = NAN;
        if (m_core.cost != NULL) check(m_core.cost(m_session, process, launch, &cost));
        return cost;
    }

private:
    void check_launch(uint32_t process, uint64_t launch) {
        const uint64_t count = m_launches[process];
        if (count != 0 && launch >= count)
            m_fail("the plugin asks for launch " + std::to_string(launch) + "; allowed: 0 to " + std::to_string(count - 1));
    }

    void check(kp_status status) {
        if (status < 0) m_fail(m_core.last_error());
    }

    const Fail m_fail;
    kp_core m_core;
    kp_state m_state;
    kp_session* m_session;
    std::vector<uint64_t> m_launches;  // of each process; 0: not known
};

}  // namespace kernelpoint
