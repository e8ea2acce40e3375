// The plugin as the hook sees it: every call checked, every failure the end of the run with one clear message.
#ifndef KERNELPOINT_MACSIM_PLUGIN_H
#define KERNELPOINT_MACSIM_PLUGIN_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "loader.h"

namespace kernelpoint {

// Says why and ends the process with exit code 1, without the simulator's destructors: the journal is on disk.
inline void stop_run(const std::string& why) {
    std::cout.flush();
    fflush(stdout);
    fprintf(stderr, "kernelpoint: %s\n", why.c_str());
    fflush(stderr);
    _exit(1);
}

class Plugin {
public:
    Plugin() : m_session(NULL) {}

    bool is_open() const { return m_session != NULL; }

    // One process of the session for each list; a NULL list cannot be read, only counted.
    void open(const char* config, const std::string& config_hash, const std::vector<const char*>& lists,
              const std::vector<uint64_t>& launches) {
        const std::string problem = kp_load(&m_api);
        if (!problem.empty()) stop_run(problem);
        kp_host_info info;
        memset(&info, 0, sizeof(info));
        info.size = sizeof(info);
        info.abi_version = KP_ABI_VERSION;
        info.simulator = "macsim";
        info.version = "hook 1";
        info.config_hash = config_hash.c_str();
        info.process_count = static_cast<uint32_t>(lists.size());
        info.list_paths = lists.data();
        info.launch_counts = launches.data();
        check(m_api.open(config, &info, &m_session));
    }

    // KP_OK: *launch is the next one to ask about; KP_PENDING: other processes have launches left; KP_DONE.
    kp_status next(uint32_t process, uint64_t after, uint64_t* launch) {
        const kp_status status = m_api.next(m_session, process, after, launch);
        check(status);
        return status;
    }

    bool simulates(uint32_t process, uint64_t index, const char* trace) {
        kp_launch launch;
        memset(&launch, 0, sizeof(launch));
        launch.size = sizeof(launch);
        launch.process = process;
        launch.index = index;
        launch.trace_path = trace;
        kp_decision decision;
        memset(&decision, 0, sizeof(decision));
        decision.size = sizeof(decision);
        check(m_api.on_launch(m_session, &launch, &decision));
        return decision.action != KP_SKIP;
    }

    void complete(uint32_t process, uint64_t index, uint64_t cycles, uint64_t instructions,
                  const std::vector<kp_counter>& counters) {
        kp_result result;
        memset(&result, 0, sizeof(result));
        result.size = sizeof(result);
        result.process = process;
        result.index = index;
        result.cycles = cycles;
        result.instructions = instructions;
        result.counter_count = static_cast<uint32_t>(counters.size());
        result.counters = counters.data();
        check(m_api.on_complete(m_session, &result));
    }

    void abort(uint32_t process, uint64_t index, const std::string& reason) {
        check(m_api.on_abort(m_session, process, index, reason.c_str()));
    }

    kp_summary finish() {
        kp_summary summary;
        memset(&summary, 0, sizeof(summary));
        summary.size = sizeof(summary);
        check(m_api.finish(m_session, &summary));
        return summary;
    }

    void estimate(uint32_t process, uint64_t index, double* cycles, double* instructions) {
        check(m_api.launch_estimate(m_session, process, index, cycles, instructions));
    }

private:
    void check(kp_status status) {
        if (status < 0) stop_run(m_api.last_error());
    }

    kp_api m_api;
    kp_session* m_session;
};

}  // namespace kernelpoint
#endif
