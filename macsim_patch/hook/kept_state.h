// State besides caches that a launch leaves to the next: branch predictors, whose turn it is, open DRAM rows.
#ifndef KERNELPOINT_MACSIM_KEPT_STATE_H
#define KERNELPOINT_MACSIM_KEPT_STATE_H

#include <stdint.h>

#include <algorithm>
#include <vector>

#include "all_knobs.h"
#include "draws.hpp"
#include "kept_bytes.h"
#include "macsim.h"
#include "members.h"
#include "memory.h"
#include "statistics_reader.h"

namespace kernelpoint {

// Branch predictors of the cores, as earlier launches have trained them. Each core of MacSim has one gshare predictor.
// All its warps share one history, and its counters are never reset during a run. So the time of a kernel depends on
// its place: in a workload of 2,080 launches one kernel takes 6,144 cycles early and 9,383 late.
class Predictors {
public:
    void attach(macsim_c* base) { m_base = base; }

    // True if the branch predictors have an influence on cycles.
    bool learn() const { return !*m_base->m_knobs->KNOB_PERFECT_BP && *m_base->m_knobs->KNOB_USE_BRANCH_PREDICTION; }
    uint32_t history_bits() const { return static_cast<uint32_t>(*m_base->m_knobs->KNOB_BP_HIST_LENGTH); }
    uint32_t counter_bits() const { return static_cast<uint32_t>(*m_base->m_knobs->KNOB_PHT_CTR_BITS); }

    // Sets the predictor of a core to number `from` of the replayed ones.
    void set(int core, const ReplayedPredictors& replayed, uint32_t from) {
        bp_dir_base_c* predictor = (m_base->m_core_pointers[core]->*reach(BranchPredictor()))->m_bp;
        const uint8_t* counters = replayed.counters(from);
        std::copy(counters, counters + replayed.counters_of_core(), predictor->m_pht);
        predictor->m_global_hist = replayed.history(from);
    }

private:
    macsim_c* m_base = NULL;
};

// State of cores and DRAM, set while nothing runs; no cycle is simulated for it. Model: turns are drawn for each launch
// by its index, as what came before it leaves them anyhow, those of the schedulers as launches leave them
// (schedule_phase); rows are closed; the constant caches hold the line that all constant loads go to, as traces tell no
// addresses of them. Left as they are: requests that the launch before has on their way (its write-backs), Ramulator's
// rows and refreshes, prefetchers, TLBs, BTBs.
class KeptState {
public:
    void attach(macsim_c* base) { m_base = base; }

    // Sets whose turn it is among cores, caches and routers. Turns follow cycle counters, which are moved forward.
    void set_turns(uint64_t launch) {
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

    void set_arbiters(uint64_t launch, const std::vector<int>& cores) {
        Draws draws(launch);
        for (size_t i = 0; i < cores.size(); ++i) set_core(m_base->m_core_pointers[cores[i]], draws);
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

private:
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
            schedule->*reach(FirstScheduler()) =
                static_cast<int>(draws.below(*m_base->m_knobs->KNOB_NUM_WARP_SCHEDULER));
        }
    }

    // Cycles since the schedulers' last turn, of the four that shipped parameters have (gpu_schedule_ratio). Model:
    // they go on until the core's last warp retires, a time after its issue that depends on its last instruction. Drawn
    // as three full runs have it on average: 1 in 9 of 16 cases, 2 in 5, 0 in 2 (3 in 10 of 13,172).
    static unsigned schedule_phase(Draws& draws) {
        const unsigned drawn = draws.below(16);
        return drawn < 9 ? 1 : drawn < 14 ? 2 : 0;
    }

    static void fill(cache_c* cache) {
        Addr line = 0, evicted = 0;
        cache->invalidate_cache();
        cache->insert_cache(0, &line, &evicted, 0, true);
    }

    macsim_c* m_base = NULL;
};

}  // namespace kernelpoint
#endif
