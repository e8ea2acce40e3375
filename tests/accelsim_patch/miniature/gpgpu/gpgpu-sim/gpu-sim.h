// A GPU for tests: issues one CTA per cycle to its two clusters in turn and runs each for eight cycles. A CTA loads
// from the one line of its kernel's name. With -timed_memory the kernels have eight lines each, a CTA stores into its
// line as well, and what it finds in the L2, in the rows of DRAM and in everything that takes turns costs cycles.
#pragma once
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <set>
#include <string>

#include "gpgpu-sim/held.h"
#include "gpgpu-sim/icnt_wrapper.h"
#include "gpgpu-sim/l2cache.h"
#include "gpgpu-sim/local_interconnect.h"
#include "gpgpu-sim/mem_latency_stat.h"
#include "gpgpu-sim/shader.h"
#include "option_parser.h"

extern LocalInterconnect* g_localicnt_interface;

class gpgpu_sim_config {
public:
    bool g_power_simulation_enabled = false;
    const char* g_power_filename = "power.log";
    unsigned num_cluster() const { return 2; }
    unsigned num_shader() const { return 4; }
    double get_core_freq() const { return 1e9; }

private:
    friend class gpgpu_sim;
    int gpu_stat_sample_freq = 50;
    unsigned long long gpu_max_cycle_opt = 0;
    double core_period = 1, icnt_period = 1.25, l2_period = 0.75, dram_period = 7;
};

class gpgpu_sim {
public:
    void reg_options(option_parser_t opp) {
        option_parser_register(opp, "-gpgpu_concurrent_kernel_sm", OPT_BOOL, &m_cores.gpgpu_concurrent_kernel_sm,
                               "let kernels overlap", "0");
        option_parser_register(opp, "-timed_memory", OPT_BOOL, &m_timed, "let the state of memory cost cycles", "0");
        option_parser_register(opp, "-gpgpu_perfect_inst_const_cache", OPT_BOOL, &m_perfect, "code always hits", "1");
        option_parser_register(opp, "-gpgpu_flush_l1_cache", OPT_BOOL, &m_flush_l1, "empty the L1 at each launch", "1");
        option_parser_register(opp, "-gpgpu_flush_l2_cache", OPT_BOOL, &m_flush_l2, "empty the L2 at each launch", "0");
        option_parser_register(opp, "-gpgpu_n_chiplet_partition", OPT_CSTR, &m_l2_partitions, "parts of the L2", "1");
        option_parser_register(opp, "-network_mode", OPT_CSTR, &m_network, "the kind of network", "2");
        option_parser_register(opp, "-gpgpu_cache:dl2", OPT_CSTR, &m_l2_shape, "the L2", "S:2:128:4,L:B:m:L:P,A:1:1,1:0,32");
        option_parser_register(opp, "-gpgpu_kernel_launch_latency", OPT_CSTR, &m_latency, "cycles before a CTA", "0");
        option_parser_register(opp, "-power", OPT_BOOL, &m_config.g_power_simulation_enabled, "report power", "0");
        option_parser_register(opp, "-assert_in", OPT_CSTR, &m_asserts_in, "uid of a launch that breaks us", "0");
    }
    const shader_core_config* getShaderCoreConfig() { return &m_cores; }
    const memory_config* getMemoryConfig() { return &m_memory_config; }
    const gpgpu_sim_config& get_config() const { return m_config; }

    bool can_start_kernel() const { return m_kernel == NULL; }
    void launch(kernel_info_t* next) {
        if (static_cast<unsigned>(atoi(m_asserts_in)) == next->get_uid()) abort();
        next->m_kernel_TB_latency = static_cast<unsigned>(atoi(m_latency));
        m_kernel = next;
    }
    bool active() const { return m_kernel != NULL || m_on_their_way > 0; }
    bool cycle_insn_cta_max_hit() const { return false; }
    void perf_memcpy_to_gpu(size_t address, size_t bytes) {
        for (size_t i = 0; i < bytes; i += 32) {
            const unsigned cut = static_cast<unsigned>(address + i);
            m_memory_sub_partition[place(cut).sub_partition]->copy(cut, gpu_tot_sim_cycle);
        }
    }

    // A tick of the clock that comes next, and of those that come with it.
    void cycle() {
        ++m_calls;
        const int clocks = next_clock_domain();
        if (clocks & 8) icnt_transfer();
        for (unsigned i = 0; i < m_memory_config.m_n_mem_sub_partition && clocks & 4; ++i) m_l2[i].cache_cycle();
        if (clocks & 2) m_channel.dram_cycle();
        if (clocks & 1) core_cycle();
    }

    void core_cycle() {
        ++gpu_sim_cycle;
        for (auto& cluster : m_two_clusters) cluster.core_cycle();
        float duty = 0;
        for (unsigned i = 0; i < m_config.num_shader(); ++i) duty += m_shader_stats->m_pipeline_duty_cycle[i];
        *average_pipeline_duty_cycle += duty / static_cast<float>(m_config.num_shader());
        if (m_on_their_way > 0) --m_on_their_way;
        if (gpu_sim_cycle % static_cast<unsigned>(m_config.gpu_stat_sample_freq) == 0) print_state("sample");
        if (m_kernel == NULL) return;
        if (m_kernel->m_kernel_TB_latency > 0) {
            --m_kernel->m_kernel_TB_latency;
            return;
        }
        if (!m_kernel->no_more_ctas_to_run()) issue();
        while (!m_ends.empty() && *m_ends.begin() <= gpu_sim_cycle) retire();
        if (m_kernel->no_more_ctas_to_run() && !m_kernel->running()) finish();
    }

    unsigned finished_kernel() {
        const unsigned uid = m_finished;
        m_finished = 0;
        return uid;
    }

    void print_stats() {
        printf("kernel_name = %s \nkernel_launch_uid = %u \n", m_name.c_str(), m_uid);
        printf("calls of cycle = %u\ncalls of Advance = %u\n", m_calls, g_localicnt_interface->advances());
        printf("gpu_sim_cycle = %llu\ngpu_sim_insn = %llu\n", gpu_sim_cycle, gpu_sim_insn);
        printf("gpu_tot_sim_cycle = %llu\n", gpu_tot_sim_cycle + gpu_sim_cycle);
        printf("gpu_tot_sim_insn = %llu\n", gpu_tot_sim_insn + gpu_sim_insn);
        printf("L2_total_cache_accesses = %llu\n", l2_accesses());
    }

    unsigned long long l2_accesses() const { return m_l2[0].l2.hits + m_l2[0].l2.misses + m_l2[1].l2.hits + m_l2[1].l2.misses; }

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

    // All that an idle tick changes.
    void print_state(const char* when) {
        printf("state at %s cycle %llu clocks %g %g %g %g duty %.9g", when, gpu_sim_cycle, core_time, icnt_time, l2_time,
               dram_time, *average_pipeline_duty_cycle);
        g_localicnt_interface->print();
        for (const auto& slice : m_l2) slice.print();
        m_channel.print();
        for (const auto& cluster : m_two_clusters) cluster.print();
        printf("\n");
    }

    void issue() {
        if (m_kernel->get_next_cta_id_single() == 0) print_state("first CTA");
        m_kernel->increment_cta_id();
        m_last_cluster_issue = (m_last_cluster_issue + 1) % 2;
        const new_addr_type kernel = 0x100000 + (m_kernel->name().back() - '0') * 2304;
        const new_addr_type line = m_timed ? (m_kernel->get_next_cta_id_single() - 1) % 8 * 128 : 0;
        ++m_kernel->resident;
        unsigned cycles = access(kernel + line, false);
        if (m_timed) cycles += access(kernel + line + 32, true) + whose_turn();
        m_ends.insert(gpu_sim_cycle + 8 + (m_timed ? cycles : 0));
    }

    static addrdec_t place(new_addr_type address) {
        addrdec_t found;
        linear_to_raw_address_translation().addrdec_tlx(address, &found);
        return found;
    }

    unsigned access(new_addr_type address, bool write) {
        const addrdec_t to = place(address);
        if (m_memory_sub_partition[to.sub_partition]->access(address, gpu_tot_sim_cycle + gpu_sim_cycle, write)) return 0;
        ++m_memory_stats->reads[0];
        m_on_their_way += m_timed ? 2 : 0;
        return m_memory_partition_unit[0]->cost(to) + static_cast<unsigned>(dram_time - core_time);
    }

    unsigned whose_turn() {
        return m_last_cluster_issue + m_cluster[m_last_cluster_issue]->turn() + g_localicnt_interface->turn();
    }

    void retire() {
        m_ends.erase(m_ends.begin());
        --m_kernel->resident;
        ++gpu_completed_cta;
        gpu_sim_insn += m_kernel->threads_per_cta();
        m_shader_stats->m_num_sim_winsn[0] += 1;
    }

    void finish() {
        m_finished = m_uid = m_kernel->get_uid();
        m_name = m_kernel->name();
        m_kernel = NULL;
        m_l2[0].write_back();
        if (!m_config.g_power_simulation_enabled) return;
        FILE* report = fopen(m_config.g_power_filename, "a");
        fprintf(report, "kernel_avg_power = 50\ngpu_avg_L2CP, = 7\ngpu_avg_CONSTP = 43\n");
        fclose(report);
    }

    gpgpu_sim_config m_config;
    shader_core_config m_cores;
    memory_config m_memory_config;
    simt_core_cluster m_two_clusters[2];
    simt_core_cluster* m_cluster_list[2] = {&m_two_clusters[0], &m_two_clusters[1]};
    simt_core_cluster** m_cluster = m_cluster_list;
    memory_sub_partition m_l2[2];
    memory_sub_partition* m_l2_list[2] = {&m_l2[0], &m_l2[1]};
    Several<memory_sub_partition>::Type m_memory_sub_partition = Several<memory_sub_partition>::of(m_l2_list, 2);
    memory_partition_unit m_channel;
    memory_partition_unit* m_channel_list[1] = {&m_channel};
    Several<memory_partition_unit>::Type m_memory_partition_unit = Several<memory_partition_unit>::of(m_channel_list, 1);
    unsigned m_last_cluster_issue = 1;
    float* average_pipeline_duty_cycle = new float(0);
    shader_core_stats* m_shader_stats = new shader_core_stats;
    memory_stats_t* m_memory_stats = new memory_stats_t;
    unsigned gpu_completed_cta = 0;

private:
    // The clocks that tick next, and are moved on: 1 core, 2 DRAM, 4 L2, 8 network.
    int next_clock_domain() {
        const double now = std::min(std::min(core_time, icnt_time), std::min(l2_time, dram_time));
        return tick(&core_time, m_config.core_period, now) + 2 * tick(&dram_time, m_config.dram_period, now) +
               4 * tick(&l2_time, m_config.l2_period, now) + 8 * tick(&icnt_time, m_config.icnt_period, now);
    }

    static int tick(double* time, double period, double now) {
        if (*time > now) return 0;
        *time += period;
        return 1;
    }

    kernel_info_t* m_kernel = NULL;
    std::multiset<unsigned long long> m_ends;
    double core_time = 0, icnt_time = 0, l2_time = 0, dram_time = 0;
    unsigned m_on_their_way = 0;
    unsigned m_finished = 0, m_uid = 0, m_calls = 0;
    bool m_timed = false, m_perfect = true, m_flush_l1 = true, m_flush_l2 = false;
    char *m_asserts_in = NULL, *m_latency = NULL, *m_network = NULL, *m_l2_shape = NULL, *m_l2_partitions = NULL;
    std::string m_name;
};
