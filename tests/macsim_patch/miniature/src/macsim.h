// The whole of the miniature simulator.
#pragma once
#include <queue>
#include <string>

#include "all_knobs.h"
#include "core.h"
#include "knob.h"
#include "statistics.h"

class process_manager_c;

class macsim_c {
public:
    void initialize(int argc, char** argv);
    int run_a_cycle();
    void finalize();

    KnobsContainer* m_knobsContainer;
    all_knobs_c* m_knobs;
    ProcessorStatistics* m_ProcessorStats;
    core_c* m_core_pointers[16];
    process_manager_c* m_process_manager;
    queue<int> m_acc_core_pool;
    unsigned long long m_simulation_cycle = 0;
    int m_process_count = 0;
    int m_process_count_without_repeat = 0;
    int m_num_active_threads = 0;

private:
    void retire(int core_id);

    macsim_c* m_simBase;
};
