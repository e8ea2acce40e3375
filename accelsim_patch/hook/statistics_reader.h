// Reads the simulator's own statistics, cumulative as they stand; nothing is ever written.
#ifndef KERNELPOINT_ACCELSIM_STATISTICS_READER_H
#define KERNELPOINT_ACCELSIM_STATISTICS_READER_H

#include <stdio.h>
#include <string.h>

#include <cmath>
#include <string>
#include <vector>

#include "gpgpu-sim/gpu-cache.h"
#include "gpgpu-sim/gpu-sim.h"
#include "gpgpu-sim/l2cache.h"
#include "gpgpu-sim/mem_latency_stat.h"
#include "gpgpu-sim/shader.h"
#include "members.h"
#include "power_report.h"

namespace kernelpoint {

// A cumulative amount: KernelPoint's name for it, the line in which the simulator prints it, and its value.
struct Amount {
    const char* name;
    const char* native;
    double value;
};

// Gives access to protected members of gpgpu_sim by pointers to members, which a derived class may name.
struct Inside : public gpgpu_sim {
    static memory_stats_t* memory(gpgpu_sim* sim) { return sim->*(&Inside::m_memory_stats); }
    static shader_core_stats* cores(gpgpu_sim* sim) { return sim->*(&Inside::m_shader_stats); }
    static simt_core_cluster* cluster(gpgpu_sim* sim, unsigned i) { return (sim->*(&Inside::m_cluster))[i]; }
    static memory_sub_partition* l2(gpgpu_sim* sim, unsigned i) { return (sim->*(&Inside::m_memory_sub_partition))[i]; }
    static memory_partition_unit* channel(gpgpu_sim* sim, unsigned i) { return (sim->*(&Inside::m_memory_partition_unit))[i]; }
    static float* duty_cycle(gpgpu_sim* sim) { return sim->*(&Inside::average_pipeline_duty_cycle); }
    static unsigned completed_ctas(gpgpu_sim* sim) { return sim->*(&Inside::gpu_completed_cta); }
};

class StatisticsReader {
public:
    explicit StatisticsReader(gpgpu_sim* sim) : m_sim(sim) {
        if (sim->get_config().g_power_simulation_enabled) m_power.attach(sim->get_config().g_power_filename);
    }

    // Reads the amounts after a simulated launch. `apart`: launches simulated one after another are not neighbours in
    // the list.
    std::vector<Amount> read(double launch_cycles, bool apart) {
        std::vector<Amount> all;
        read_caches(&all);
        read_dram(&all);
        read_cores(&all);
        if (m_sim->get_config().g_power_simulation_enabled) read_energy(&all, launch_cycles, apart);
        return all;
    }

    // Drops the power of earlier launches after their last sample.
    void drop_power() {
        PowerSums ignored;
        if (m_sim->get_config().g_power_simulation_enabled) take_power_samples(m_sim, &ignored);
    }

private:
    void read_caches(std::vector<Amount>* all) {
        cache_stats l1, l2;
        l1.clear();
        l2.clear();
        cache_sub_stats l1_sum, l2_sum;
        for (unsigned i = 0; i < m_sim->get_config().num_cluster(); ++i) {
            cache_sub_stats one;
            Inside::cluster(m_sim, i)->get_L1D_sub_stats(one);
            Inside::cluster(m_sim, i)->get_cache_stats(l1);
            l1_sum += one;
        }
        for (unsigned i = 0; i < m_sim->getMemoryConfig()->m_n_mem_sub_partition; ++i) {
            cache_sub_stats one;
            Inside::l2(m_sim, i)->get_L2cache_sub_stats(one);
            Inside::l2(m_sim, i)->accumulate_L2cache_stats(l2);
            l2_sum += one;
        }
        add(all, "l1_accesses", "\tL1D_total_cache_accesses", l1_sum.accesses);
        add(all, "l1_misses", "\tL1D_total_cache_misses", l1_sum.misses);
        add(all, "l2_accesses", "L2_total_cache_accesses", l2_sum.accesses);
        add(all, "l2_misses", "L2_total_cache_misses", l2_sum.misses);
        add_splits(all, l1, l2);
    }

    static void add_splits(std::vector<Amount>* all, const cache_stats& l1, const cache_stats& l2) {
        add_split(all, l2, "l2_global_reads", "\tL2_cache_stats_breakdown[GLOBAL_ACC_R][TOTAL_ACCESS]", GLOBAL_ACC_R, false);
        add_split(all, l2, "l2_global_read_hits", "\tL2_cache_stats_breakdown[GLOBAL_ACC_R][HIT]", GLOBAL_ACC_R, true);
        add_split(all, l2, "l2_global_writes", "\tL2_cache_stats_breakdown[GLOBAL_ACC_W][TOTAL_ACCESS]", GLOBAL_ACC_W, false);
        add_split(all, l2, "l2_global_write_hits", "\tL2_cache_stats_breakdown[GLOBAL_ACC_W][HIT]", GLOBAL_ACC_W, true);
        add_split(all, l1, "l1_global_reads", "\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_R][TOTAL_ACCESS]", GLOBAL_ACC_R,
                  false);
        add_split(all, l1, "l1_global_read_hits", "\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_R][HIT]", GLOBAL_ACC_R, true);
        add_split(all, l1, "l1_global_writes", "\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_W][TOTAL_ACCESS]", GLOBAL_ACC_W,
                  false);
        add_split(all, l1, "l1_global_write_hits", "\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_W][HIT]", GLOBAL_ACC_W, true);
        cache_request_status merged = MSHR_HIT;
        mem_access_type reads = GLOBAL_ACC_R;
        add(all, "l1_global_reads_merged", "\tTotal_core_cache_stats_breakdown[GLOBAL_ACC_R][MSHR_HIT]",
            l1.get_stats(&reads, 1, &merged, 1));
    }

    // Adds hits, or all accesses, as the simulator counts them: a merged miss counts as the miss that it joins.
    static void add_split(std::vector<Amount>* all, const cache_stats& stats, const char* name, const char* native,
                          mem_access_type type, bool hits) {
        cache_request_status kinds[] = {HIT, HIT_RESERVED, MISS, SECTOR_MISS};
        add(all, name, native, stats.get_stats(&type, 1, kinds, hits ? 1 : 4));
    }

    void read_dram(std::vector<Amount>* all) {
        const memory_config* config = m_sim->getMemoryConfig();
        const memory_stats_t* stats = Inside::memory(m_sim);
        double reads = 0, writes = 0;
        for (unsigned i = 0; i < config->m_n_mem; ++i)
            for (unsigned j = 0; j < config->nbk; ++j) {
                reads += stats->totalbankreads[i][j];
                writes += stats->totalbankwrites[i][j];
            }
        add(all, "dram_reads", "total dram reads", reads);
        add(all, "dram_writes", "total dram writes", writes);
    }

    void read_cores(std::vector<Amount>* all) {
        const shader_core_stats* stats = Inside::cores(m_sim);
        double warp_instructions = 0;
        for (unsigned i = 0; i < m_sim->get_config().num_shader(); ++i) warp_instructions += stats->m_num_sim_winsn[i];
        add(all, "warp_instructions", "gpgpu_n_tot_w_icount", warp_instructions);
        add(all, "shared_bank_conflicts", "gpgpu_n_shmem_bkconflict", stats->gpgpu_n_shmem_bkconflict);
        add_l1_conflicts(all, *stats, 0);
    }

    // Reads a statistic that has another name in trees before 2023.
    template <typename Stats>
    static auto add_l1_conflicts(std::vector<Amount>* all, const Stats& stats, int)
        -> decltype(stats.gpgpu_n_l1cache_bkconflict, void()) {
        add(all, "l1_bank_conflicts", "gpgpu_n_l1cache_bkconflict", stats.gpgpu_n_l1cache_bkconflict);
    }
    template <typename Stats>
    static void add_l1_conflicts(std::vector<Amount>* all, const Stats& stats, long) {
        add(all, "l1_bank_conflicts", "gpgpu_n_cache_bkconflict", stats.gpgpu_n_cache_bkconflict);
    }

    // A launch apart has all its activity, in its report and in what is left behind the last sample, and idle power for
    // the rest of its time: in (samples of the report + rest) * interval cycles, those that are not its own were idle.
    void read_energy(std::vector<Amount>* all, double launch_cycles, bool apart) {
        const gpgpu_sim_config& config = m_sim->get_config();
        const std::vector<double> watts = m_power.read();
        PowerSums rest, idle;
        if (apart && take_power_samples(m_sim, &rest) && take_power_samples(m_sim, &idle)) {
            const double interval = config.*reach(SampleInterval()), end = static_cast<double>(m_sim->gpu_tot_sim_cycle);
            const double samples = std::floor(end / interval) - std::floor((end - launch_cycles) / interval);
            const double seconds = interval / config.get_core_freq();
            m_power.add(watts, samples * seconds);
            m_power.add(rest.watts, seconds);
            m_power.add(idle.watts, launch_cycles / config.get_core_freq() - (samples + rest.samples) * seconds);
        } else {
            m_power.add(watts, launch_cycles / config.get_core_freq());
        }
        add(all, "energy", NULL, m_power.energy());
        for (size_t i = 0; i < kPowerPartCount; ++i) add(all, energy_counter(i), NULL, m_power.energy_of(i));
    }

    static void add(std::vector<Amount>* all, const char* name, const char* native, double value) {
        const Amount amount = {name, native, value};
        all->push_back(amount);
    }

    gpgpu_sim* m_sim;
    PowerReport m_power;
};

}  // namespace kernelpoint
#endif
