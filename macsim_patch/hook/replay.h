// State that does not depend on what was simulated: before a launch all of it is emptied or set, and what the launches
// before it left in caches and branch predictors is put back. Functional warming (SMARTS, Wunderlich et al., ISCA 2003,
// section 3).
#ifndef KERNELPOINT_MACSIM_REPLAY_H
#define KERNELPOINT_MACSIM_REPLAY_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <queue>
#include <vector>

#include "all_knobs.h"
#include "caches.h"
#include "client.hpp"
#include "draws.hpp"
#include "macsim.h"
#include "members.h"
#include "memory.h"
#include "process_manager.h"
#include "statistics_reader.h"

namespace kernelpoint {

// Layout of kp_kept.bytes (python/kernelpoint/simulators/macsim has the same in Python): the branch predictor of each
// core, gshare with 2^history_bits counters of counter_bits each; 0 bits: none that learns.
struct StatedPredictors {
    uint32_t history_bits, counter_bits;
};

// Model: turns are drawn for each launch by its index, as what came before it leaves them anyhow, those of the
// schedulers as launches leave them (schedule_phase); rows are closed; the constant caches hold the line that all
// constant loads go to, as traces tell no addresses of them. Left as they are: requests that the launch before has on
// their way (its write-backs), Ramulator's rows and refreshes, prefetchers, TLBs, BTBs.
class Replay {
public:
    // Called before the first cycle.
    void attach(macsim_c* base) {
        m_base = base;
        m_caches.attach(base);
    }

    // Describes the state kept between launches, and the CTAs that run at the same time.
    void describe(Host* host) {
        const char* knob = *m_base->m_knobs->KNOB_ENABLE_PHYSICAL_MAPPING ? "enable_physical_mapping"
                           : *m_base->m_knobs->KNOB_PTX_COMMON_CACHE      ? "ptx_common_cache"
                                                                          : NULL;
        if (knob != NULL) {
            fprintf(stderr, "kernelpoint: %s: skipped launches are not replayed\n", knob);
            return;
        }
        const std::vector<int> cores = gpu_cores();
        const size_t most = static_cast<size_t>(int(*m_base->m_knobs->KNOB_MAX_NUM_CORE_PER_APPL));
        host->kept.lines = 2 * m_caches.lines(cores);  // sets fill unevenly, and cores share lines
        host->kept.sms = static_cast<uint32_t>(most == 0 ? cores.size() : std::min(most, cores.size()));
        host->kept.ctas_per_sm = static_cast<uint32_t>(int(*m_base->m_knobs->KNOB_MAX_BLOCK_PER_CORE));
        host->kept.warps_per_sm = static_cast<uint32_t>(m_base->m_core_pointers[cores[0]]->get_max_threads_per_core());
        const bool learn = !*m_base->m_knobs->KNOB_PERFECT_BP && *m_base->m_knobs->KNOB_USE_BRANCH_PREDICTION;
        m_stated.history_bits = learn ? static_cast<uint32_t>(*m_base->m_knobs->KNOB_BP_HIST_LENGTH) : 0;
        m_stated.counter_bits = learn ? static_cast<uint32_t>(*m_base->m_knobs->KNOB_PHT_CTR_BITS) : 0;
        host->kept.bytes = &m_stated;
        host->kept.byte_count = sizeof(m_stated);
    }

    // Sets whose turn it is at the beginning of a launch, in all parts that take turns. Called between two cycles
    // while no warp runs; no cycle is simulated for it.
    void set_turns(const process_s& application, uint64_t launch) {
        set_cycles(launch);
        Draws draws(launch);
        const std::vector<int> cores = cores_of(application);
        for (size_t i = 0; i < cores.size(); ++i) set_core(m_base->m_core_pointers[cores[i]], draws);
    }

    // Sets the turns, and all other state that earlier launches leave.
    void apply(const process_s& application, uint64_t launch, const kp_replay& before) {
        const std::vector<int> cores = cores_of(application);
        set_turns(application, launch);
        fill_constant_caches(cores);
        close_rows();
        m_caches.empty(cores);
        for (uint64_t i = 0; i < before.touch_count; ++i) {
            const kp_touch& touch = before.touches[i];
            m_caches.take(cores[core_of(touch) % cores.size()], touch);
        }
        set_predictors(cores, static_cast<const uint8_t*>(before.bytes), before.byte_count);
    }

private:
    std::vector<int> gpu_cores() const {
        std::vector<int> cores;
        for (int i = 0; i < int(*m_base->m_knobs->KNOB_NUM_SIM_CORES); ++i)
            if (is_gpu(m_base->m_core_pointers[i])) cores.push_back(i);
        return cores;
    }

    // Cores of the application; before its first kernel, those that it will get.
    std::vector<int> cores_of(const process_s& application) const {
        std::vector<int> cores;
        for (const auto& core : application.m_core_list) cores.push_back(core.first);
        const int most = *m_base->m_knobs->KNOB_MAX_NUM_CORE_PER_APPL;
        std::queue<int> pool = *application.m_core_pool;
        for (int taken = 0; !pool.empty() && (most == 0 || taken < most); ++taken, pool.pop()) cores.push_back(pool.front());
        std::sort(cores.begin(), cores.end());
        return cores;
    }

    // Sets whose turn it is among cores, caches and routers. Turns follow cycle counters, which are moved forward.
    void set_cycles(uint64_t launch) {
        Draws draws(launch);
        memory_c* memory = m_base->m_memory;
        const unsigned cores = static_cast<unsigned>(int(*m_base->m_knobs->KNOB_NUM_SIM_CORES));
        const unsigned l3 = static_cast<unsigned>(std::max(1, memory->*reach(ThirdLevelCount())));
        const unsigned llc = static_cast<unsigned>(std::max(1, memory->*reach(LastLevelCount())));
        const unsigned routers = cores + l3 + llc + static_cast<unsigned>(int(*m_base->m_knobs->KNOB_DRAM_NUM_MC));
        const unsigned of_cores = ahead(m_base->m_core_cycle[0], cores, draws);
        for (unsigned core = 0; core < cores; ++core) m_base->m_core_cycle[core] += of_cores;
        memory->*reach(MemoryCycle()) += ahead(memory->*reach(MemoryCycle()), l3 * llc, draws);
        m_base->m_simulation_cycle += ahead(m_base->m_simulation_cycle, routers, draws);
    }

    // Distance from a number to the next one with a drawn turn out of `count`.
    static unsigned ahead(uint64_t number, unsigned count, Draws& draws) {
        return (draws.below(count) + count - static_cast<unsigned>(number % count)) % count;
    }

    void set_core(core_c* core, Draws& draws) {
        // warps take turns by number: which half of the schedulers' warps is first depends on it
        int& first = core->*reach(FirstLiveWarp());
        if (core->m_unique_scheduled_thread_num % 2 != 0) {
            ++core->m_unique_scheduled_thread_num;
            first = core->m_unique_scheduled_thread_num;
        }
        core->get_frontend()->*reach(FetchPhase()) = 0;
        core->get_frontend()->*reach(FetchTurn()) = core->m_unique_scheduled_thread_num;
        schedule_smc_c* schedule = dynamic_cast<schedule_smc_c*>(core->*reach(Scheduler()));
        if (schedule != NULL) {
            schedule->*reach(SchedulePhase()) =
                static_cast<int>(schedule_phase(draws)) % int(*m_base->m_knobs->KNOB_GPU_SCHEDULE_RATIO);
            schedule->*reach(FirstScheduler()) = static_cast<int>(draws.below(*m_base->m_knobs->KNOB_NUM_WARP_SCHEDULER));
        }
    }

    // Cycles since the schedulers' last turn, of the four that shipped parameters have (gpu_schedule_ratio). Model:
    // they go on until the core's last warp retires, a time after its issue that depends on its last instruction. Drawn
    // as three full runs have it on average: 1 in 9 of 16 cases, 2 in 5, 0 in 2 (3 in 10 of 13,172).
    static unsigned schedule_phase(Draws& draws) {
        const unsigned drawn = draws.below(16);
        return drawn < 9 ? 1 : drawn < 14 ? 2 : 0;
    }

    void fill_constant_caches(const std::vector<int>& cores) {
        for (size_t i = 0; i < cores.size(); ++i) {
            readonly_cache_c* constants = m_base->m_core_pointers[cores[i]]->get_const_cache();
            if (constants != NULL) fill(constants->*reach(ConstantCache()));
        }
    }

    void close_rows() {
        for (int i = 0; i < int(*m_base->m_knobs->KNOB_DRAM_NUM_MC); ++i) {
            dram_ctrl_c* dram = dynamic_cast<dram_ctrl_c*>(m_base->m_dram_controller[i]);
            for (int bank = 0; dram != NULL && bank < dram->*reach(BankCount()); ++bank)
                (dram->*reach(OpenRows()))[bank] = ~uint64_t(0);
        }
    }

    static void fill(cache_c* cache) {
        Addr line = 0, evicted = 0;
        cache->invalidate_cache();
        cache->insert_cache(0, &line, &evicted, 0, true);
    }

    // Sets the branch predictors. Each core of MacSim has one gshare predictor. All its warps share one history, and
    // its counters are never reset during a run. So the time of a kernel depends on its place: in a workload of 2,080
    // launches one kernel takes 6,144 cycles early and 9,383 late. Layout of kp_replay.bytes: numbers of cores and of
    // counters of each; the history of each core, its last branch in the highest bit, as predicted (taken: 1); the
    // counters of each, indexed by the highest history bits XOR the branch's address / 4.
    void set_predictors(const std::vector<int>& cores, const uint8_t* bytes, uint64_t byte_count) {
        uint32_t counts[2] = {0, 0}, history;
        if (byte_count >= sizeof(counts)) memcpy(counts, bytes, sizeof(counts));
        const uint8_t* histories = bytes + sizeof(counts);
        const uint8_t* counters = histories + uint64_t(counts[0]) * sizeof(history);
        for (uint32_t i = 0; i < counts[0] && i < cores.size(); ++i, counters += counts[1]) {
            bp_dir_base_c* predictor = (m_base->m_core_pointers[cores[i]]->*reach(BranchPredictor()))->m_bp;
            std::copy(counters, counters + counts[1], predictor->m_pht);
            memcpy(&history, histories + i * sizeof(history), sizeof(history));
            predictor->m_global_hist = history;
        }
    }

    macsim_c* m_base = NULL;
    Caches m_caches;
    StatedPredictors m_stated;
};

}  // namespace kernelpoint
#endif
