#include "process_manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include <fstream>

#include "trace_read.h"

static void end_without_trace(const string& trace) {
    fprintf(stderr, "%s cannot be read\n", trace.c_str());
    exit(15);
}

void process_manager_c::add(const string& config) {
    process_s* owner = new process_s(m_simBase->admit(), config, &m_simBase->gpu_cores);
    ifstream file(config);
    string word;
    file >> word;
    if (word == "nvbit") owner->m_acc = true;
    file >> word >> word;
    const string folder = config.substr(0, config.rfind('/'));
    while (file >> word) owner->m_applications.push_back(folder + word.substr(1));
    owner->m_kernel_block_start_count.resize(owner->m_applications.size());
    setup_process(owner);
}

void process_manager_c::setup_process(process_s* owner) {
    const unsigned launch = owner->m_current_vector_index;
    printf("kernel %u:%u\n", owner->m_process_id, launch);
    owner->m_kernel_block_start_count[launch] = launch;
    owner->m_current_vector_index = launch + 1;
    const string& trace = owner->m_applications[launch];
    ifstream file(trace);
    string type;
    unsigned version, blocks, count, id, start;
    if (!(file >> type >> version >> blocks >> count)) end_without_trace(trace);
    m_simBase->m_simulation_cycle += 16 * *m_simBase->m_knobs->KNOB_TICKS_PER_CYCLE;  // until the first fetch
    owner->m_thread_start_info = new thread_start_info_s[count];
    owner->m_thread_trace_info = new thread_s*[count];
    owner->m_no_of_threads_created = owner->m_no_of_threads_terminated = 0;
    take_cores(owner);
    for (unsigned& made = owner->m_no_of_threads_created; made < count; ++made) {
        if (!(file >> id >> start)) end_without_trace(trace);
        thread_s* warp = new thread_s{owner, 10 + made % 3 + stalls(owner, trace, id)};
        owner->m_thread_start_info[made].number = id;
        owner->m_thread_trace_info[made] = warp;
        waiting_[owner].push_back(warp);
    }
    m_simBase->live_warps += count;
    owner->m_block_list[launch] = true;
}

// The cycles that a warp waits for caches and branches. All of its instructions are executed when it is made, on the
// core that its CTA goes to.
int process_manager_c::stalls(process_s* owner, const string& trace, unsigned warp) {
    auto core = owner->m_core_list.begin();
    advance(core, (warp >> 16) % owner->m_core_list.size());
    core_c& here = *m_simBase->m_core_pointers[core->first];
    gzFile file = gzopen((trace.substr(0, trace.rfind('.')) + "_" + to_string(warp) + ".raw").c_str(), "rb");
    if (file == NULL) end_without_trace(trace);
    const uns64 space = 10ull * UINT32_MAX * owner->m_process_id, data = m_simBase->m_memory->base_addr(0, space);
    vector<trace_info_nvbit_small_s> records(1);
    while (gzread(file, &records.back(), sizeof(records[0])) == sizeof(records[0])) records.emplace_back();
    gzclose(file);
    int cycles = 0;
    bool jumped = true;
    for (size_t i = 0; i + 1 < records.size(); ++i) {
        const trace_info_nvbit_small_s& it = records[i];
        m_simBase->m_simulation_cycle += *m_simBase->m_knobs->KNOB_TICKS_PER_CYCLE;  // no two uses at the same time
        const uns64 pc = here.address_of(it.m_inst_addr, space);
        if (jumped && !here.fetch(pc)) cycles += m_simBase->m_memory->below(pc, false) ? 1 : 2;
        jumped = it.m_cf_type != PIN_NOT_CF && here.branch(m_simBase, it.m_inst_addr, it.m_br_taken_mask != 0, true);
        if (it.m_cf_type != PIN_NOT_CF && !jumped) {
            cycles += 7;
            m_simBase->m_ProcessorStats->core(core->first)[BP_ON_PATH_MISPREDICT - PER_CORE_STATS_ENUM_FIRST]++;
        }
        const bool parent = !it.m_is_fp && records[i + 1].m_is_fp && records[i + 1].m_opcode == it.m_opcode;
        if (it.m_mem_addr == 0 || parent) continue;
        const bool around = it.m_opcode == NVBIT_ST || it.m_opcode == NVBIT_STL;
        memory_c& memory = *m_simBase->m_memory;
        const int missed = around ? memory.store_around(core->first, it.m_mem_addr + data, it.m_opcode == NVBIT_ST)
                                  : memory.access(core->first, it.m_mem_addr + data, !it.m_is_load);
        if (it.m_is_load) count_access(missed == 0);
        cycles += 5 * missed;
        cycles += kept(here, missed == 2, it.m_mem_addr);
    }
    return cycles;
}

// Costs of all else that is kept between launches: turns, rows of memory.
int process_manager_c::kept(core_c& core, bool missed, uns64 address) {
    if (!*m_simBase->m_knobs->KNOB_KEPT_STATE) return 0;
    memory_c& memory = *m_simBase->m_memory;
    int cycles = core.wait() + memory.turn() + int(m_simBase->m_core_cycle[0] % 2);
    if (missed && !static_cast<dram_ctrl_c*>(m_simBase->m_dram_controller[0])->use(address)) cycles += 4;
    return cycles + int(m_simBase->m_simulation_cycle % 2);
}

void process_manager_c::take_cores(process_s* owner) {
    const unsigned most = int(*m_simBase->m_knobs->KNOB_MAX_NUM_CORE_PER_APPL);
    for (queue<int>& pool = *owner->m_core_pool; !pool.empty(); pool.pop()) {
        if (most != 0 && owner->m_core_list.size() == most) return;
        m_simBase->m_core_pointers[pool.front()]->init();
        m_simBase->m_core_pointers[pool.front()]->add_application(0, owner);
        owner->m_core_list[pool.front()] = true;
    }
}

void process_manager_c::count_access(bool hit) {
    ProcessorStatistics& statistics = *m_simBase->m_ProcessorStats;
    statistics[hit ? L1_HIT_GPU : L1_MISS_GPU]++;
    for (uns64 left = *m_simBase->m_knobs->KNOB_DRAM_STEP, step; left > 0; left -= step)
        statistics[TOTAL_DRAM] += step = left < 1u << 30 ? left : 1u << 30;
}

// An array is freed once; an application without a kernel has none.
template <typename T>
static void release(T* array) {
    delete[] array;
}

void process_manager_c::terminate_process(process_s* owner) {
    release(owner->m_thread_start_info);
    release(owner->m_thread_trace_info);
    owner->m_block_list.clear();
    const bool over = owner->m_current_vector_index >= owner->m_applications.size();
    const uns64 retired = (*m_simBase->m_ProcessorStats)[INST_COUNT_TOT].getCount();
    if (!over && retired < *m_simBase->m_knobs->KNOB_MAX_INSTS1) return setup_process(owner);
    map<int, bool> cores;
    cores.swap(owner->m_core_list);
    for (const auto& core : cores) owner->m_core_pool->push(core.first);
    m_simBase->m_ProcessorStats->saveStats("." + to_string(owner->m_process_id));
}

void process_manager_c::end_warp(int core, thread_s* warp) {
    m_simBase->m_core_pointers[core]->warps.remove(warp);
    ++warp->m_process->m_no_of_threads_terminated;
    m_simBase->live_warps -= 1;
    delete warp;
    fill_cores();
}

void process_manager_c::fill_cores() {
    for (auto& each : waiting_)
        for (const auto& core : each.first->m_core_list) {
            core_c& its_core = *m_simBase->m_core_pointers[core.first];
            while (!each.second.empty() && int(its_core.warps.size()) < its_core.get_max_threads_per_core()) {
                its_core.warps.push_back(each.second.front());
                each.second.pop_front();
            }
        }
}
