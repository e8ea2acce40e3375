// The plugin as the hook sees it: every call checked, every failure the end of the run with one clear message.
#ifndef KERNELPOINT_ACCELSIM_PLUGIN_H
#define KERNELPOINT_ACCELSIM_PLUGIN_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "loader.h"

namespace kernelpoint {

// Says why and ends the process with exit code 1, without the simulator's destructors: the journal is on disk.
inline void stop_run(const std::string& why) {
    fflush(stdout);
    fprintf(stderr, "kernelpoint: %s\n", why.c_str());
    fflush(stderr);
    _exit(1);
}

// Messages stand in the simulator's output: job_status.py takes a job that writes to standard error for a failed one.
inline void print_line(void*, const char* line) {
    printf("%s\n", line);
    fflush(stdout);
}

class Plugin {
public:
    Plugin() : m_session(NULL) {}

    void open(const char* config, const std::string& config_hash, const char* list, uint64_t launches) {
        const std::string problem = kp_load(&m_api);
        if (!problem.empty()) stop_run(problem);
        kp_host_info info;
        memset(&info, 0, sizeof(info));
        info.size = sizeof(info);
        info.abi_version = KP_ABI_VERSION;
        info.simulator = "accelsim";
        info.version = "hook 1";
        info.config_hash = config_hash.c_str();
        info.flags = KP_HOST_CAN_STOP;
        info.process_count = 1;
        info.list_paths = &list;
        info.launch_counts = &launches;
        info.log = &print_line;
        check(m_api.open(config, &info, &m_session));
    }

    // The next launch to ask about; false when the run is over.
    bool next(uint64_t after, uint64_t* launch) {
        const kp_status status = m_api.next(m_session, 0, after, launch);
        check(status);
        if (status == KP_PENDING) stop_run("the plugin waits for a launch, but none is in flight");
        return status != KP_DONE;
    }

    kp_decision decide(uint64_t index, const char* trace) {
        kp_launch launch;
        memset(&launch, 0, sizeof(launch));
        launch.size = sizeof(launch);
        launch.index = index;
        launch.trace_path = trace;
        kp_decision decision;
        memset(&decision, 0, sizeof(decision));
        decision.size = sizeof(decision);
        check(m_api.on_launch(m_session, &launch, &decision));
        return decision;
    }

    bool wants_stop(const kp_progress& progress) {
        uint32_t action = KP_CONTINUE;
        check(m_api.on_progress(m_session, &progress, &action));
        return action == KP_STOP;
    }

    void complete(uint64_t index, bool stopped, uint64_t cycles, uint64_t instructions,
                  const std::vector<kp_counter>& counters) {
        kp_result result;
        memset(&result, 0, sizeof(result));
        result.size = sizeof(result);
        result.index = index;
        result.flags = stopped ? KP_RESULT_STOPPED : 0;
        result.cycles = cycles;
        result.instructions = instructions;
        result.counter_count = static_cast<uint32_t>(counters.size());
        result.counters = counters.data();
        check(m_api.on_complete(m_session, &result));
    }

    void abort(uint64_t index, const std::string& reason) {
        check(m_api.on_abort(m_session, 0, index, reason.c_str()));
    }

    kp_summary finish() {
        kp_summary summary;
        memset(&summary, 0, sizeof(summary));
        summary.size = sizeof(summary);
        check(m_api.finish(m_session, &summary));
        return summary;
    }

    void estimate(uint64_t index, double* cycles, double* instructions) {
        check(m_api.launch_estimate(m_session, 0, index, cycles, instructions));
    }

    // The kernel's name as the plugin knows it; empty where it does not.
    std::string name(uint64_t index) {
        const char* known = NULL;
        if (m_api.launch_name != NULL) check(m_api.launch_name(m_session, 0, index, &known));
        return known != NULL ? known : "";
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
