// Launch loop: the next kernel to simulate, its results, and the totals at the end.
//
// MacSim keeps an index into the application's list of kernels. Before a kernel is set up, and when one has ended, the
// index is moved to the next launch that the plugin wants: forwards over skipped ones, back for a further pass, or to
// the end of the list. A launch that begins with replayed state (replay.h) is set up between two cycles.
//
// The lines that the patch adds to MacSim call the functions at the end; they do nothing where the knob is not set.
#ifndef KERNELPOINT_MACSIM_LAUNCH_LOOP_H
#define KERNELPOINT_MACSIM_LAUNCH_LOOP_H

#include <algorithm>
#include <string>
#include <vector>

#include "all_knobs.h"
#include "client.hpp"
#include "output.h"
#include "process_manager.h"
#include "replay.h"
#include "setup.h"
#include "statistics_reader.h"

namespace kernelpoint {

class LaunchLoop {
public:
    LaunchLoop() : m_client(&stop_run) {}

    // Called before a kernel is set up; false if there is none now, and the set-up must not go on.
    bool begin(macsim_c* base, process_s* process) {
        m_process = process;
        if (!m_client.is_open()) open(base);
        if (m_state == kNew) advance();
        if (m_state != kReady || ((is_replayed() || is_compared()) && !m_starting)) {
            m_to_start = m_state == kReady;
            let_go();
            return false;
        }
        begin_launch();
        return true;
    }

    // Called between two cycles: sets up a launch that begins with replayed state, or one that is compared with such a
    // launch. Both of a pair begin with the same turns, so their difference is the replay error.
    void start() {
        if (!m_to_start) return;
        m_to_start = false;
        if (is_replayed())
            m_replay.apply(*m_process, m_at.launch, m_client.replay_before(m_at));
        else
            m_replay.set_turns(*m_process, m_at.launch);
        m_starting = true;
        m_base->m_process_manager->setup_process(m_process);
        m_starting = false;
        m_base->m_process_manager->sim_thread_schedule(true);
    }

    // Called when the last warp of a kernel is about to retire.
    void end() {
        complete();
        if (reached_limit())
            m_state = kDone;
        else
            advance();
        point_at_next();
    }

    // Called at the end of the simulation, before MacSim writes its statistics.
    void finish() {
        if (!m_client.is_open()) stop_run("kernel_sampling: the list of traces names no application");
        if (m_state != kDone) m_client.abort(m_at, "the simulator ended before the launch");
        m_summary = m_client.finish();
        m_estimates = m_client.estimates();
        if (!is_full_run()) m_natives.set_totals(m_base, m_summary, m_estimates, m_equal_clocks);
    }

    // Called after MacSim has written its statistics.
    void write() {
        write_totals(m_base, m_summary, m_estimates);
        if (!is_full_run()) m_natives.mark(m_base, m_summary);
    }

private:
    enum State {
        kNew,
        kReady,    // the next launch is decided and not yet set up
        kRunning,  // a launch is in flight
        kDone
    };

    // True if MacSim's own statistics are those of a full run: this process simulated every launch, none from replayed
    // state.
    bool is_full_run() const {
        return !m_replayed && m_completed == m_summary.launches && m_summary.simulated == m_summary.launches;
    }

    void open(macsim_c* base) {
        m_base = base;
        check_setup(base, *m_process);
        Host host;
        host.simulator = "macsim";
        host.version = "hook 5";
        host.flags = KP_HOST_NEEDS_WHOLE_TRACES;  // MacSim takes a file that is cut short for a shorter warp
        host.configuration = configuration_of(base);
        std::string options = host.configuration;
        options.erase(std::remove(options.begin(), options.end(), '\n'), options.end());
        host.config_hash = hash_of(options);
        const Process process = {list_for_plugin(*m_process), m_process->m_applications.size()};
        host.processes.push_back(process);
        m_statistics.attach(base);
        host.counter_names = m_statistics.names();
        m_replay.attach(base);
        m_replay.describe(&host);
        m_client.open(option_of(base), host);
    }

    void advance() {
        const kp_status status = m_client.next_to_simulate(&m_at);
        if (status == KP_PENDING) stop_run("the plugin waits for a launch that does not run here; please report it");
        m_state = status == KP_OK ? kReady : kDone;
    }

    // True for a validation launch, which begins with the state of the launch before it.
    bool is_compared() const { return !m_at.is_counted(); }
    bool is_replayed() const { return m_at.restores(); }

    // Sets MacSim's index of the next kernel.
    void point_at_next() {
        m_process->m_current_vector_index =
            static_cast<unsigned>(m_state == kReady ? m_at.launch : m_process->m_applications.size());
    }

    // Clears the pointers to the last kernel. MacSim has freed them and would free them again at the end.
    void let_go() {
        m_process->m_thread_start_info = NULL;
        m_process->m_thread_trace_info = NULL;
        m_process->m_no_of_threads_created = m_process->m_no_of_threads_terminated = 0;
        point_at_next();
    }

    void begin_launch() {
        point_at_next();
        require_open_files(m_base, m_process->m_applications[m_at.launch]);
        m_replayed = m_replayed || is_replayed();
        m_state = kRunning;
        m_before = m_statistics.read();
    }

    void complete() {
        const Amounts now = m_statistics.read();
        const uint64_t cycles = now.cycles - m_before.cycles, ticks = now.ticks - m_before.ticks;
        std::vector<double> counters;
        for (size_t i = 0; i < now.counters.size(); ++i) counters.push_back(now.counters[i] - m_before.counters[i]);
        m_client.complete(m_at, cycles, now.instructions - m_before.instructions, counters);
        m_equal_clocks = m_equal_clocks && ticks <= cycles + 1 && cycles <= ticks + 1;
        ++m_completed;
    }

    bool reached_limit() const {
        return (*m_base->m_ProcessorStats)[INST_COUNT_TOT].getCount() >= uint64_t(*m_base->m_knobs->KNOB_MAX_INSTS1);
    }

    macsim_c* m_base = NULL;
    process_s* m_process = NULL;  // the application
    Position m_at;                // its launch in flight, or asked about last
    State m_state = kNew;
    Client m_client;
    StatisticsReader m_statistics;
    Amounts m_before;  // when the launch in flight began
    Replay m_replay;
    kp_summary m_summary;
    std::vector<kp_estimate> m_estimates;
    bool m_to_start = false;  // the next launch is set up before the next cycle
    bool m_starting = false;
    bool m_replayed = false;  // some launch began with replayed state
    bool m_equal_clocks = true;
    uint64_t m_completed = 0;
    NativeFiles m_natives;
};

inline LaunchLoop& launch_loop() {
    static LaunchLoop the_loop;
    return the_loop;
}

inline bool begin_kernel(macsim_c* base, process_s* process) {
    return !is_on(base) || launch_loop().begin(base, process);
}

inline void before_cycle(macsim_c* base) {
    if (is_on(base)) launch_loop().start();
}

inline void end_of_warp(macsim_c* base, process_s* process) {
    if (is_on(base) && process->m_acc && process->m_no_of_threads_terminated + 1 == process->m_no_of_threads_created)
        launch_loop().end();
}

inline void before_statistics(macsim_c* base) {
    if (is_on(base)) launch_loop().finish();
}

inline void after_statistics(macsim_c* base) {
    if (is_on(base)) launch_loop().write();
}

}  // namespace kernelpoint
#endif
