#include "process_manager.h"

#include <stdio.h>
#include <stdlib.h>

#include <fstream>

void process_manager_c::create_process(const string& config) {
    process_s* process = new process_s;
    process->m_process_id = m_simBase->m_process_count++;
    ++m_simBase->m_process_count_without_repeat;
    process->m_kernel_config_name = config;
    process->m_core_pool = &m_simBase->m_acc_core_pool;
    ifstream file(config);
    string word;
    file >> word;
    if (word == "nvbit") process->m_acc = true;
    file >> word >> word;
    while (file >> word) {
        process->m_applications.push_back(config.substr(0, config.rfind('/')) + word.substr(1));
        process->m_kernel_block_start_count.push_back(0);
    }
    setup_process(process);
}

void process_manager_c::setup_process(process_s* process) {
    printf("kernel %u:%u\n", process->m_process_id, process->m_current_vector_index);
    process->m_kernel_block_start_count[process->m_current_vector_index] = process->m_block_count++;
    const string trace = process->m_applications[process->m_current_vector_index++];
    ifstream file(trace);
    string type;
    unsigned version, blocks, count, id, start, most = int(*m_simBase->m_knobs->KNOB_MAX_NUM_CORE_PER_APPL);
    if (!(file >> type >> version >> blocks >> count)) exit(15);
    const bool warm = !m_warm.insert(trace).second;
    process->m_thread_start_info = new thread_start_info_s[count];
    process->m_thread_trace_info = new thread_s*[count];
    process->m_no_of_threads_created = process->m_no_of_threads_terminated = 0;
    while (!process->m_core_pool->empty() && (most == 0 || process->m_core_list.size() < most)) {
        process->m_core_list[process->m_core_pool->front()] = true;
        m_simBase->m_core_pointers[process->m_core_pool->front()]->add_application(0, process);
        process->m_core_pool->pop();
    }
    for (unsigned i = 0; i < count; ++i) {
        if (!(file >> id >> start)) exit(15);
        thread_s* warp = new thread_s;
        warp->m_process = process;
        warp->left = 10 + i % 3 + (warm ? 0 : 5);
        process->m_thread_start_info[i].m_thread_id = id;
        process->m_thread_trace_info[i] = warp;
        m_waiting[process].push_back(warp);
        ++process->m_no_of_threads_created;
        ++m_simBase->m_num_active_threads;
        (*m_simBase->m_ProcessorStats)[warm ? L1_HIT_GPU : L1_MISS_GPU]++;
        for (uns64 left = *m_simBase->m_knobs->KNOB_DRAM_STEP, step; left > 0; left -= step)
            (*m_simBase->m_ProcessorStats)[TOTAL_DRAM] += step = left < 1u << 30 ? left : 1u << 30;
    }
    process->m_block_list[0] = true;
}

bool process_manager_c::terminate_process(process_s* process) {
    delete[] process->m_thread_start_info;
    delete[] process->m_thread_trace_info;
    process->m_block_list.clear();
    const unsigned long long retired = (*m_simBase->m_ProcessorStats)[INST_COUNT_TOT].getCount();
    if (process->m_current_vector_index < process->m_applications.size() &&
        retired < *m_simBase->m_knobs->KNOB_MAX_INSTS1) {
        setup_process(process);
        return false;
    }
    for (auto each : process->m_core_list) process->m_core_pool->push(each.first);
    process->m_core_list.clear();
    m_simBase->m_ProcessorStats->saveStats("." + to_string(process->m_process_id));
    return true;
}

int process_manager_c::terminate_thread(int core_id, thread_s* warp) {
    m_simBase->m_core_pointers[core_id]->warps.remove(warp);
    ++warp->m_process->m_no_of_threads_terminated;
    --m_simBase->m_num_active_threads;
    delete warp;
    sim_thread_schedule();
    return 0;
}

void process_manager_c::sim_thread_schedule() {
    for (auto& each : m_waiting)
        for (auto core : each.first->m_core_list) {
            core_c* its_core = m_simBase->m_core_pointers[core.first];
            while (!each.second.empty() && int(its_core->warps.size()) < its_core->get_max_threads_per_core()) {
                its_core->warps.push_back(each.second.front());
                each.second.pop_front();
            }
        }
}
