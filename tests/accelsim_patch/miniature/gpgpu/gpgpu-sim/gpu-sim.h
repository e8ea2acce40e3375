// A GPU for tests: issues one CTA per cycle, runs each for eight cycles, and warms one cache line per copy and kernel
// name.
#pragma once
#include <stdio.h>

#include <list>
#include <set>
#include <string>

#include "gpgpu-sim/l2cache.h"
#include "gpgpu-sim/mem_latency_stat.h"
#include "gpgpu-sim/shader.h"
#include "option_parser.h"

struct gpgpu_sim_config {
    bool g_power_simulation_enabled = false;
    const char* g_power_filename = "power.log";
    unsigned num_cluster() const { return 1; }
    unsigned num_shader() const { return 1; }
    double get_core_freq() const { return 1e9; }
};

class gpgpu_sim {
public:
    void reg_options(option_parser_t opp) {
        option_parser_register(opp, "-gpgpu_concurrent_kernel_sm", OPT_BOOL, &m_cores.gpgpu_concurrent_kernel_sm,
                               "let kernels overlap", "0");
        option_parser_register(opp, "-power", OPT_BOOL, &m_config.g_power_simulation_enabled, "report power", "0");
    }
    const shader_core_config* getShaderCoreConfig() { return &m_cores; }
    const memory_config* getMemoryConfig() { return &m_memory_config; }
    const gpgpu_sim_config& get_config() const { return m_config; }

    bool can_start_kernel() const { return m_kernel == NULL; }
    void launch(kernel_info_t* next) { m_kernel = next; }
    bool active() const { return m_kernel != NULL; }
    bool cycle_insn_cta_max_hit() const { return false; }
    void perf_memcpy_to_gpu(size_t address, size_t) { m_warm.insert(std::to_string(address)); }

    void cycle() {
        ++gpu_sim_cycle;
        if (!m_kernel->no_more_ctas_to_run()) issue();
        while (!m_ends.empty() && m_ends.front() <= gpu_sim_cycle) retire();
        if (m_kernel->no_more_ctas_to_run() && !m_kernel->running()) finish();
    }

    unsigned finished_kernel() {
        const unsigned uid = m_finished;
        m_finished = 0;
        return uid;
    }

    void print_stats() {
        printf("kernel_name = %s \nkernel_launch_uid = %u \n", m_name.c_str(), m_uid);
        printf("gpu_sim_cycle = %llu\ngpu_sim_insn = %llu\n", gpu_sim_cycle, gpu_sim_insn);
        printf("gpu_tot_sim_cycle = %llu\n", gpu_tot_sim_cycle + gpu_sim_cycle);
        printf("gpu_tot_sim_insn = %llu\n", gpu_tot_sim_insn + gpu_sim_insn);
        printf("L2_total_cache_accesses = %llu\n", m_l2.l2.hits + m_l2.l2.misses);
    }

    void close_kernel() {
        move_to(gpu_tot_sim_cycle, gpu_sim_cycle);
        move_to(gpu_tot_sim_insn, gpu_sim_insn);
        gpu_completed_cta = 0;
    }

    unsigned long long gpu_sim_cycle = 0, gpu_sim_insn = 0, gpu_tot_sim_cycle = 0, gpu_tot_sim_insn = 0;

protected:
    static void move_to(unsigned long long& total, unsigned long long& own) {
        total += own;
        own = 0;
    }

    void issue() {
        m_kernel->increment_cta_id();
        ++m_kernel->resident;
        m_ends.push_back(gpu_sim_cycle + 8);
        ++(m_warm.count(m_kernel->name()) != 0 ? m_l2.l2.hits : m_l2.l2.misses);
        m_memory_stats->reads[0] += m_warm.insert(m_kernel->name()).second;
    }

    void retire() {
        m_ends.pop_front();
        --m_kernel->resident;
        ++gpu_completed_cta;
        gpu_sim_insn += m_kernel->threads_per_cta();
        m_shader_stats->m_num_sim_winsn[0] += 1;
    }

    void finish() {
        m_finished = m_uid = m_kernel->get_uid();
        m_name = m_kernel->name();
        m_kernel = NULL;
        if (!m_config.g_power_simulation_enabled) return;
        FILE* report = fopen(m_config.g_power_filename, "a");
        fprintf(report, "kernel_avg_power = 50\n");
        fclose(report);
    }

    gpgpu_sim_config m_config;
    shader_core_config m_cores;
    memory_config m_memory_config;
    simt_core_cluster m_one_cluster;
    simt_core_cluster* m_cluster_list[1] = {&m_one_cluster};
    simt_core_cluster** m_cluster = m_cluster_list;
    memory_sub_partition m_l2;
    memory_sub_partition* m_l2_list[1] = {&m_l2};
    memory_sub_partition** m_memory_sub_partition = m_l2_list;
    shader_core_stats* m_shader_stats = new shader_core_stats;
    memory_stats_t* m_memory_stats = new memory_stats_t;
    unsigned gpu_completed_cta = 0;

private:
    kernel_info_t* m_kernel = NULL;
    std::list<unsigned long long> m_ends;
    std::set<std::string> m_warm;
    unsigned m_finished = 0, m_uid = 0;
    std::string m_name;
};
