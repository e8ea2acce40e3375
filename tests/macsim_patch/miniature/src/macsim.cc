#include "macsim.h"

#include <stdio.h>

#include <fstream>

#include "process_manager.h"

macsim_c::macsim_c(const vector<string>& arguments) {
    m_knobs->register_all(m_knobsContainer);
    ifstream parameters("params.in");
    for (string flag, text; parameters >> flag >> text;) m_knobsContainer->apply(flag, text);
    for (const string& argument : arguments) {
        const size_t equals = argument.find('=');
        if (equals == string::npos || equals + 1 == argument.size()) break;
        m_knobsContainer->apply(argument.substr(2, equals - 2), argument.substr(equals + 1));
    }
    ofstream echo("params.out");
    echo << *m_knobsContainer;
    echo.close();
    const int cores = *m_knobs->KNOB_NUM_SIM_CORES;
    m_ProcessorStats = new ProcessorStatistics(cores);
    m_ProcessorStats->written = &m_AllStatsOutputStreams;
    for (int each = 0; each < cores; ++each) {
        m_core_pointers[each] = new core_c(*m_knobs->KNOB_WARPS_PER_CORE, *m_knobs->KNOB_BP_HIST_LENGTH, &m_simulation_cycle);
        gpu_cores.push(each);
    }
    m_memory = new memory_c(cores, &m_simulation_cycle);
    m_dram_controller = new dram_c*[1]{new dram_ctrl_c};
    m_process_manager = new process_manager_c(this);
    ifstream list(string(*m_knobs->KNOB_TRACE_NAME_FILE));
    string config;
    for (list >> config; list >> config;) m_process_manager->add(config);
    m_process_manager->sim_thread_schedule(true);
}

// One tick of all clocks; false where nothing is left to do, or nothing more is allowed.
bool macsim_c::run_a_cycle() {
    const uns64 most = *m_knobs->KNOB_MAX_CYCLES;
    if (live_warps == 0) return false;
    if (most != 0 && m_simulation_cycle >= most) return false;
    const bool gpu_too = m_simulation_cycle % *m_knobs->KNOB_TICKS_PER_CYCLE == 0;
    m_simulation_cycle += 1;
    m_memory->run_a_cycle();
    for (int each = 0; gpu_too && each < *m_knobs->KNOB_NUM_SIM_CORES; ++each) {
        m_core_pointers[each]->inc_core_cycle_count();
        ++m_core_cycle[each];
        retire(each);
    }
    (*m_ProcessorStats)[CYC_COUNT_TOT]++;
    return true;
}

// The warps that end in this cycle; with the last one of a kernel the next kernel, or the application's end.
void macsim_c::retire(int core) {
    const list<thread_s*> resident = m_core_pointers[core]->warps;
    for (thread_s* warp : resident) {
        if (--warp->left > 0) continue;
        process_s* owner = warp->m_process;
        (*m_ProcessorStats)[INST_COUNT_TOT]++;
        m_ProcessorStats->core(core)[INST_COUNT - PER_CORE_STATS_ENUM_FIRST]++;
        m_process_manager->end_warp(core, warp);
        if (owner->m_no_of_threads_terminated < owner->m_no_of_threads_created) continue;
        if (owner->m_current_vector_index >= owner->m_applications.size()) {
            m_process_count_without_repeat -= 1;
            (*m_ProcessorStats)[CYC_COUNT_ACC] += m_simulation_cycle;
        }
        m_process_manager->terminate_process(owner);
        m_process_manager->sim_thread_schedule(true);
    }
}

void macsim_c::finalize() {
    if (string(*m_knobs->KNOB_DRAM_SCHEDULING_POLICY) == "RAMULATOR") ofstream("ramulator.stat.out") << "ramulator.reads 8\n";
    m_ProcessorStats->saveStats();
    puts("Done");
}

int main(int count, char** words) {
    macsim_c simulator(vector<string>(words + 1, words + count));
    do {
    } while (simulator.run_a_cycle());
    simulator.finalize();
}
