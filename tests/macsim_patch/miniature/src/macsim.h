// The whole of the miniature simulator. Its names are those that the patch's anchors and the hook ask for.
#pragma once
#include <queue>
#include <string>

#include "all_knobs.h"
#include "core.h"
#include "dram_ctrl.h"
#include "knob.h"
#include "memory.h"
#include "statistics.h"

class process_manager_c;

class macsim_c {
public:
    explicit macsim_c(const vector<string>& arguments);
    bool run_a_cycle();
    void finalize();

    // A new application's number.
    unsigned admit() { return m_process_count_without_repeat++, m_process_count++; }

    KnobsContainer* m_knobsContainer = new KnobsContainer;
    all_knobs_c* m_knobs = new all_knobs_c;
    ProcessorStatistics* m_ProcessorStats = NULL;
    map<string, ofstream*> m_AllStatsOutputStreams;
    core_c* m_core_pointers[16];
    memory_c* m_memory = NULL;
    dram_c** m_dram_controller = NULL;
    process_manager_c* m_process_manager = NULL;
    queue<int> gpu_cores;
    unsigned long long m_simulation_cycle = 0;
    unsigned long long m_core_cycle[16] = {};
    int m_process_count = 0, m_process_count_without_repeat = 0;
    int live_warps = 0;

private:
    void retire(int core);

    macsim_c* const m_simBase = this;
};
