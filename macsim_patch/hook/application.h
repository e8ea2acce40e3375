// A GPU application of the run, and where its walk over its launches stands.
#ifndef KERNELPOINT_MACSIM_APPLICATION_H
#define KERNELPOINT_MACSIM_APPLICATION_H

#include <queue>
#include <string>
#include <vector>

#include "all_knobs.h"
#include "core.h"
#include "macsim.h"
#include "process_manager.h"
#include "statistics.h"
#include "statistics_reader.h"
#include "totals.h"
#include "traces.h"

namespace kernelpoint {

struct Application {
    enum State {
        kNew,
        kReady,    // its next launch is decided and not yet set up
        kRunning,  // a launch is in flight
        kWaiting,  // its pass is over, that of the other applications is not
        kDone
    };

    Application(unsigned id, uint32_t number, const TraceList& its_list) : process_id(id), at(number), list(its_list) {}

    bool is_active() const { return state == kReady || state == kRunning; }

    // True if it holds no kernel: nothing of it is set up.
    bool is_asleep() const { return process != NULL && process->m_thread_start_info == NULL; }

    const std::string& trace() const { return process->m_applications[at.launch]; }

    std::string prefix() const { return "appl" + std::to_string(process_id) + "_"; }

    std::vector<std::string> folders() const {
        std::vector<std::string> names;
        for (size_t i = 0; process != NULL && i < process->m_applications.size(); ++i)
            names.push_back(folder_name(process->m_applications[i]));
        return names;
    }

    // MacSim's index of the next kernel. While the application waits it must not be that of the list's end.
    void point_at_next() {
        const unsigned end = static_cast<unsigned>(process->m_applications.size());
        process->m_current_vector_index = state == kReady     ? static_cast<unsigned>(at.launch)
                                          : state == kWaiting ? 0
                                                              : end;
    }

    // There is no kernel to set up now. MacSim freed these when the last one ended, and frees them again at the end.
    void let_go(macsim_c* base) {
        process->m_thread_start_info = NULL;
        process->m_thread_trace_info = NULL;
        process->m_no_of_threads_created = process->m_no_of_threads_terminated = 0;
        if (process->m_core_list.empty()) take_cores(base);
        point_at_next();
    }

    // An application that waits before its first kernel must not lose its cores to the others.
    void take_cores(macsim_c* base) {
        std::queue<int>& pool = *process->m_core_pool;
        const size_t most = static_cast<size_t>(int(*base->m_knobs->KNOB_MAX_NUM_CORE_PER_APPL));
        while (state == kWaiting && !pool.empty() && (most == 0 || process->m_core_list.size() < most)) {
            core_c* core = base->m_core_pointers[pool.front()];
            process->m_core_list[pool.front()] = true;
            pool.pop();
            core->init();
            core->add_application(0, process);
        }
    }

    // Ends it although no warp of it retires; what the retire stage does otherwise.
    void end(macsim_c* base) {
        if (!was_set_up) return;  // MacSim holds nothing of it that could be freed
        --base->m_process_count_without_repeat;
        AbstractStat* until = find_stat(base, "CYC_COUNT_ACC");
        if (until != NULL) *until += static_cast<unsigned int>(base->m_simulation_cycle);
        base->m_process_manager->terminate_process(process);
    }

    process_s* process = NULL;  // NULL before MacSim has made it
    unsigned process_id;        // MacSim's: its position in trace_file_list
    Position at;                // its launch in flight, or asked about last
    TraceList list;
    State state = kNew;
    bool was_set_up = false;  // some kernel of it
    uint64_t cycles = 0;      // when the launch in flight began
    std::vector<uint64_t> instructions;
    std::vector<double> counters;
};

}  // namespace kernelpoint
#endif
