// State besides caches and predictors that a launch leaves to the next: whose turn it is, phases, open DRAM rows.
#ifndef KERNELPOINT_MACSIM_KEPT_STATE_H
#define KERNELPOINT_MACSIM_KEPT_STATE_H

#include <stdint.h>

#include <vector>

#include "abi.h"
#include "all_knobs.h"
#include "draws.hpp"
#include "macsim.h"
#include "macsim_phase.hpp"
#include "members.h"

namespace kernelpoint {

// Set before a launch, while nothing runs. Model: turns are drawn for each launch by its index, as what came before it
// leaves them anyhow; fetching has stopped at its own turn, and that of the schedulers is the one that the model of the
// cores tells, or drawn as launches leave it (schedule_phase); rows are closed; the constant caches hold the line that
// all constant loads go to, as traces tell no addresses of them. Left as they are: Ramulator's rows and refreshes,
// prefetchers, TLBs, BTBs.
class KeptState {
public:
    KeptState() : m_base(NULL), m_late(0) {}

    void attach(macsim_c* base) { m_base = base; }

    void set(uint64_t launch, const std::vector<int>& cores) {
        Draws draws(launch);
        for (size_t i = 0; i < cores.size(); ++i) set_core(m_base->m_core_pointers[cores[i]], draws);
        m_late = draws.below(static_cast<unsigned>(cores.size()));
        for (int i = 0; i < int(*m_base->m_knobs->KNOB_DRAM_NUM_MC); ++i) {
            dram_ctrl_c* dram = dynamic_cast<dram_ctrl_c*>(m_base->m_dram_controller[i]);
            for (int bank = 0; dram != NULL && bank < dram->*reach(BankCount()); ++bank)
                (dram->*reach(OpenRows()))[bank] = ~uint64_t(0);
        }
    }

    // After `set`: the schedulers' turns as the launches before left them. Model: a launch begins in the cycle in which
    // the one before it ends, so cores whose turn in this cycle was over begin a cycle later; how many is drawn.
    void set_turns(int index, const kp_turns& turns) {
        core_c* core = m_base->m_core_pointers[index];
        schedule_smc_c* schedule = dynamic_cast<schedule_smc_c*>(core->*reach(Scheduler()));
        if (schedule == NULL) return;
        const int schedulers = int(*m_base->m_knobs->KNOB_NUM_WARP_SCHEDULER);
        const int period = int(*m_base->m_knobs->KNOB_GPU_SCHEDULE_RATIO);
        int phase = static_cast<int>(turns.phase) % period;
        int first = static_cast<int>(turns.first) + core->m_unique_scheduled_thread_num;
        if (is_late(index)) {
            core->get_frontend()->*reach(FetchPhase()) = -1;
            if (phase == 0) ++first;  // a turn without warps comes first
            phase = (phase + period - 1) % period;
        }
        schedule->*reach(SchedulePhase()) = phase;
        schedule->*reach(FirstScheduler()) = first % schedulers;
    }

private:
    // In each cycle cores take turns, beginning with the one behind the number of the cycle.
    bool is_late(int index) const {
        const uint64_t cores = static_cast<uint64_t>(int(*m_base->m_knobs->KNOB_NUM_SIM_CORES));
        const uint64_t first = (m_base->m_core_cycle[0] + 1) % cores;
        return (static_cast<uint64_t>(index) + cores - first) % cores < m_late;
    }

    void set_core(core_c* core, Draws& draws) {
        // warps take turns by number: which half of the schedulers' warps is first depends on it
        int& first = core->*reach(FirstLiveWarp());
        if (core->m_unique_scheduled_thread_num % 2 != 0) {
            ++core->m_unique_scheduled_thread_num;
            first = core->m_unique_scheduled_thread_num;
        }
        frontend_c* frontend = core->get_frontend();
        frontend->*reach(FetchPhase()) = 0;
        frontend->*reach(FetchTurn()) = core->m_unique_scheduled_thread_num;
        frontend->*reach(FetchFailed()) = false;
        schedule_smc_c* schedule = dynamic_cast<schedule_smc_c*>(core->*reach(Scheduler()));
        if (schedule != NULL) {
            schedule->*reach(SchedulePhase()) =
                static_cast<int>(schedule_phase(draws)) % int(*m_base->m_knobs->KNOB_GPU_SCHEDULE_RATIO);
            schedule->*reach(FirstScheduler()) =
                static_cast<int>(draws.below(*m_base->m_knobs->KNOB_NUM_WARP_SCHEDULER));
        }
        readonly_cache_c* constants = core->get_const_cache();
        if (constants != NULL) fill(constants->*reach(ConstantCache()));
    }

    static void fill(cache_c* cache) {
        Addr line = 0, evicted = 0;
        cache->invalidate_cache();
        cache->insert_cache(0, &line, &evicted, 0, true);
    }

    macsim_c* m_base;
    uint64_t m_late;  // cores
};

}  // namespace kernelpoint
#endif
