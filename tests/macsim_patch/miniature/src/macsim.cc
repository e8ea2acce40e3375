#include "macsim.h"

#include <stdio.h>

#include <fstream>

#include "process_manager.h"

void macsim_c::initialize(int argc, char** argv) {
    m_simBase = this;
    m_knobs = new all_knobs_c;
    m_knobsContainer = new KnobsContainer;
    m_knobs->register_all(m_knobsContainer);
    ifstream parameters("params.in");
    for (string name, value; parameters >> name >> value;) m_knobsContainer->apply(name, value);
    for (int i = 1; i < argc; ++i) {
        const string argument = string(argv[i]).substr(2);
        m_knobsContainer->apply(argument.substr(0, argument.find('=')), argument.substr(argument.find('=') + 1));
    }
    ofstream written("params.out");
    written << *m_knobsContainer;
    written.close();
    m_ProcessorStats = new ProcessorStatistics(*m_knobs->KNOB_NUM_SIM_CORES);
    for (int i = 0; i < *m_knobs->KNOB_NUM_SIM_CORES; ++i) {
        m_core_pointers[i] = new core_c(*m_knobs->KNOB_WARPS_PER_CORE);
        m_acc_core_pool.push(i);
    }
    m_process_manager = new process_manager_c(this);
    ifstream list(string(*m_knobs->KNOB_TRACE_NAME_FILE));
    int count = 0;
    list >> count;
    for (string config; count-- > 0 && list >> config;) m_process_manager->create_process(config);
    m_process_manager->sim_thread_schedule();
}

int macsim_c::run_a_cycle() {
    const uns64 most = *m_knobs->KNOB_MAX_CYCLES;
    if (m_num_active_threads == 0 || (most != 0 && m_simulation_cycle >= most)) return 0;
    if (m_simulation_cycle++ % *m_knobs->KNOB_TICKS_PER_CYCLE == 0)
        for (int i = 0; i < *m_knobs->KNOB_NUM_SIM_CORES; ++i) {
            m_core_pointers[i]->inc_core_cycle_count();
            retire(i);
        }
    (*m_ProcessorStats)[CYC_COUNT_TOT]++;
    return 1;
}

// The warps that end in this cycle; with the last one of a kernel the next kernel, or the application's end.
void macsim_c::retire(int core_id) {
    const list<thread_s*> resident = m_core_pointers[core_id]->warps;
    for (auto warp : resident) {
        if (--warp->left > 0) continue;
        process_s* process = warp->m_process;
        (*m_ProcessorStats)[INST_COUNT_TOT]++;
        m_ProcessorStats->core(core_id)[INST_COUNT - PER_CORE_STATS_ENUM_FIRST]++;
        m_process_manager->terminate_thread(core_id, warp);
        if (process->m_no_of_threads_terminated != process->m_no_of_threads_created) continue;
        if (process->m_current_vector_index == process->m_applications.size()) {
            --m_process_count_without_repeat;
            (*m_ProcessorStats)[CYC_COUNT_ACC] += m_simulation_cycle;
        }
        m_process_manager->terminate_process(process);
        m_process_manager->sim_thread_schedule();
    }
}

void macsim_c::finalize() {
    m_ProcessorStats->saveStats();
    printf("Done\n");
}

int main(int argc, char** argv) {
    macsim_c* sim = new macsim_c;
    sim->initialize(argc, argv);
    while (sim->run_a_cycle()) {
    }
    sim->finalize();
    return 0;
}
