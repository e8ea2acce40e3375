// Launch loop: which kernel an application runs next, what it took, and the totals at the end.
//
// MacSim keeps an index into each application's list of kernels. Before a kernel is set up, and when one has ended, the
// index is moved to the next launch that the plugin wants: forwards over skipped ones, back for a further pass, or to
// the end of the list. A launch that begins with replayed state (replay.h) waits until nothing else runs.
#ifndef KERNELPOINT_MACSIM_SAMPLING_H
#define KERNELPOINT_MACSIM_SAMPLING_H

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "all_knobs.h"
#include "application.h"
#include "client.hpp"
#include "native_files.h"
#include "process_manager.h"
#include "replay.h"
#include "setup.h"
#include "statistics_reader.h"
#include "totals.h"
#include "traces.h"

namespace kernelpoint {

class Sampling {
public:
    Sampling() : m_client(&stop_run) {}

    // Before a kernel is set up. False: there is none now, and the set-up must not go on.
    bool begin(macsim_c* base, process_s* process) {
        if (!m_client.is_open()) open(base);
        if (!process->m_acc) return true;
        Application& here = application_of(process);
        if (here.state == Application::kNew) advance(here);
        if (here.state != Application::kReady) {
            here.let_go(m_base);
            return false;
        }
        if (is_replayed(here) && m_replay.needs_quiet() && !m_starting) {
            m_to_start = &here;
            here.let_go(m_base);
            return false;
        }
        begin_launch(here);
        return true;
    }

    // Between two cycles: starts the launch that waits until nothing else runs.
    void start() {
        if (m_to_start == NULL) return;
        Application& here = *m_to_start;
        m_to_start = NULL;
        m_replay.apply(here, m_client.replay_before(here.at));
        m_starting = true;
        m_base->m_process_manager->setup_process(here.process);
        m_starting = false;
        m_base->m_process_manager->sim_thread_schedule(true);
    }

    // The last warp of a kernel is about to retire.
    void end(process_s* process) {
        Application& here = application_of(process);
        complete(here);
        if (reached_limit()) {
            here.state = Application::kDone;
            m_limited = true;
            return;
        }
        advance(here);
        here.point_at_next();
    }

    // A kernel has ended and its data are about to be freed. Applications whose pass was over before go on, or end;
    // MacSim spreads what they set up over their cores right after this.
    void wake(process_manager_c* manager) {
        while (wake_one(manager)) {
        }
        bool active = m_limited, waiting = false;
        for (size_t i = 0; i < m_applications.size(); ++i) {
            active = active || m_applications[i].is_active();
            waiting = waiting || m_applications[i].state == Application::kWaiting;
        }
        if (waiting && !active) stop_run("the plugin waits for a launch, but none is in flight");
    }

    // The simulation is over; MacSim is about to write its statistics.
    void finish() {
        if (!m_client.is_open()) stop_run("kernel_sampling: the list of traces names no application");
        for (size_t i = 0; i < m_applications.size(); ++i)
            if (m_applications[i].is_active())
                m_client.abort(m_applications[i].at, "the simulator ended before the launch");
        m_summary = m_client.finish();
        m_estimates = m_client.estimates(m_summary);
        set_stats(m_base, m_summary, m_estimates);
        if (!is_full_run() && m_alone) m_natives.set_totals(m_base, m_summary, m_estimates, m_equal_clocks);
    }

    // MacSim has written its statistics: what they have no room for goes behind them.
    void write() {
        StatFile file(stat_path(m_base), "a");
        if (!file.is_open()) stop_run(file.path() + ": cannot be written");
        write_estimates(file, m_summary, m_estimates);
        for (size_t i = 0; i < m_applications.size(); ++i) {
            const Application& each = m_applications[i];
            const kp_process counts = m_client.counts(each.at.process);
            const std::vector<kp_estimate> estimates = m_client.estimates(each.at.process);
            if (m_applications.size() > 1) write_application(file, each.prefix(), counts, estimates);
            StatFile own(stat_path(m_base) + "." + std::to_string(each.process_id), "w");
            if (own.is_open()) write_application(own, "", counts, estimates);
        }
        for (size_t i = 0; i < m_applications.size(); ++i) write_launches(file, m_applications[i]);
        if (!is_full_run()) m_natives.mark(m_base, m_summary);
    }

private:
    // True if MacSim's own statistics are those of a full run: this process simulated every launch, none from replayed
    // state.
    bool is_full_run() const {
        return !m_replayed && m_completed == m_summary.launches && m_summary.simulated == m_summary.launches;
    }

    void open(macsim_c* base) {
        m_base = base;
        const Setup setup(base);
        Host host;
        host.simulator = "macsim";
        host.version = "hook 3";
        host.configuration = setup.configuration();
        std::string options = host.configuration;
        options.erase(std::remove(options.begin(), options.end(), '\n'), options.end());
        host.config_hash = hash_of(options);
        for (size_t i = 0; i < setup.lists().size(); ++i) {
            const TraceList& list = setup.lists()[i];
            if (!list.on_gpu()) continue;
            const uint32_t number = static_cast<uint32_t>(host.processes.size());
            m_applications.push_back(Application(static_cast<unsigned>(i), number, list));
            const Process process = {list.type == "nvbit" ? list.path : std::string(), list.launches};
            host.processes.push_back(process);
        }
        setup.check();
        m_alone = setup.lists().size() == 1;
        m_statistics.attach(base, m_alone);
        host.flags |= KP_HOST_NAMES_COUNTERS;
        host.counter_names = m_statistics.names();
        m_replay.attach(base, m_alone);
        m_replay.describe(&host);
        m_client.open(setup.config(), host);
    }

    Application& application_of(process_s* process) {
        for (size_t i = 0; i < m_applications.size(); ++i)
            if (m_applications[i].process_id == process->m_process_id) {
                m_applications[i].process = process;
                return m_applications[i];
            }
        stop_run("kernel_sampling: an application that trace_file_list does not name as a GPU application: " +
                 process->m_kernel_config_name);
        return m_applications[0];
    }

    // Finds the application's next launch to simulate. A launch whose files cannot be simulated is given up, and the
    // run goes on with the next one: the plugin decides what that costs.
    void advance(Application& here) {
        do {
            const kp_status status = m_client.next_to_simulate(
                &here.at, [&here](uint64_t launch) { return here.process->m_applications[launch]; });
            here.state = status == KP_OK        ? Application::kReady
                         : status == KP_PENDING ? Application::kWaiting
                                                : Application::kDone;
        } while (here.state == Application::kReady && !is_whole(here));
    }

    static bool is_replayed(const Application& here) { return here.at.decision.state == KP_STATE_REPLAYED; }

    void begin_launch(Application& here) {
        here.point_at_next();
        m_replayed = m_replayed || is_replayed(here);
        if (is_replayed(here) && !m_replay.needs_quiet()) m_replay.apply(here, m_client.replay_before(here.at));
        here.state = Application::kRunning;
        here.was_set_up = true;
        here.cycles = m_statistics.gpu_cycles();
        here.instructions = m_statistics.instructions();
        here.counters = m_statistics.read();
    }

    // True if the files of its next launch can be simulated. Launches may share a folder; each folder is read once.
    bool is_whole(Application& here) {
        const std::string trace = here.trace();
        if (m_whole.count(trace)) return true;
        TraceFolder folder(trace);
        const std::string problem = folder.problem();
        if (!problem.empty()) {
            m_client.abort(here.at, problem);
            return false;
        }
        const std::string files = open_files_problem(m_base, folder.warps());
        if (!files.empty()) {
            m_client.abort(here.at, files);
            stop_run("launch " + std::to_string(here.at.launch) + " cannot be simulated: " + files);
        }
        m_whole.insert(trace);
        return true;
    }

    void complete(Application& here) {
        const uint64_t cycles = m_statistics.gpu_cycles() - here.cycles;
        const std::vector<uint64_t> now = m_statistics.instructions();
        uint64_t instructions = 0;
        for (std::map<int, bool>::const_iterator core = here.process->m_core_list.begin();
             core != here.process->m_core_list.end(); ++core)
            instructions += now[core->first] - here.instructions[core->first];
        const std::vector<double> after = m_statistics.read();
        std::vector<kp_counter> counters;
        for (size_t i = 0; i < after.size(); ++i) {
            const kp_counter counter = {m_statistics.names()[i], after[i] - here.counters[i]};
            counters.push_back(counter);
        }
        m_client.complete(here.at, cycles, instructions, counters);
        m_equal_clocks = m_statistics.has_equal_clocks();  // cores are gone when MacSim writes its statistics
        ++m_completed;
    }

    bool reached_limit() const {
        return (*m_base->m_ProcessorStats)[INST_COUNT_TOT].getCount() >= uint64_t(*m_base->m_knobs->KNOB_MAX_INSTS1);
    }

    bool wake_one(process_manager_c* manager) {
        for (size_t i = 0; i < m_applications.size(); ++i) {
            Application& each = m_applications[i];
            if (each.state != Application::kWaiting || !each.is_asleep()) continue;
            advance(each);
            if (each.state == Application::kWaiting) continue;
            each.point_at_next();
            if (each.state == Application::kReady)
                manager->setup_process(each.process);
            else
                each.end(m_base);
            return true;
        }
        return false;
    }

    // A line for each launch; over all launches they add up to the application's estimate.
    void write_launches(StatFile& file, const Application& here) {
        const std::string prefix = m_applications.size() > 1 ? here.prefix() : std::string();
        const std::vector<std::string> folders = here.folders();
        for (uint64_t i = 0; i < here.list.launches; ++i) {
            const std::string folder = i < folders.size() ? "_" + folders[i] : std::string();
            write_launch(file, prefix + "launch" + std::to_string(i) + folder, m_client.cost(here.at.process, i));
        }
    }

    macsim_c* m_base = NULL;
    Client m_client;
    StatisticsReader m_statistics;
    Replay m_replay;
    std::deque<Application> m_applications;  // those that run on GPU cores, in the order of trace_file_list
    std::set<std::string> m_whole;           // traces that were looked at
    kp_summary m_summary;
    std::vector<kp_estimate> m_estimates;  // of the whole run
    Application* m_to_start = NULL;        // its next launch waits until nothing runs; NULL: none does
    bool m_starting = false;
    bool m_limited = false;   // by max_insts1: MacSim ends every application at its next kernel's end
    bool m_replayed = false;  // some launch began with replayed state
    bool m_equal_clocks = false;
    bool m_alone = false;  // one application: what MacSim counts is its own
    uint64_t m_completed = 0;
    NativeFiles m_natives;
};

}  // namespace kernelpoint
#endif
