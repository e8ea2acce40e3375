// State besides caches and predictors that a launch leaves to the next: whose turn it is, phases, open DRAM rows.
#ifndef KERNELPOINT_MACSIM_KEPT_STATE_H
#define KERNELPOINT_MACSIM_KEPT_STATE_H

#include <stdint.h>

#include <vector>

#include "all_knobs.h"
#include "draws.hpp"
#include "macsim.h"
#include "members.h"

namespace kernelpoint {

// Set before a launch, while nothing runs. Model: turns are drawn for each launch by its index, as what came before it
// leaves them anyhow; fetching has stopped at its own turn, and that of the schedulers is drawn as launches leave it
// (schedule_phase); rows are closed; the constant caches hold the line that all constant loads go to, as
// traces tell no addresses of them. Left as they are: Ramulator's rows and refreshes, prefetchers, TLBs, BTBs.
class KeptState {
public:
    KeptState() : m_base(NULL) {}

    void attach(macsim_c* base) { m_base = base; }

    void set(uint64_t launch, const std::vector<int>& cores) {
        Draws draws(launch);
        for (size_t i = 0; i < cores.size(); ++i) set_core(m_base->m_core_pointers[cores[i]], draws);
        for (int i = 0; i < int(*m_base->m_knobs->KNOB_DRAM_NUM_MC); ++i) {
            dram_ctrl_c* dram = dynamic_cast<dram_ctrl_c*>(m_base->m_dram_controller[i]);
            for (int bank = 0; dram != NULL && bank < dram->*reach(BankCount()); ++bank)
                (dram->*reach(OpenRows()))[bank] = ~uint64_t(0);
        }
    }

private:
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

    macsim_c* m_base;
};

}  // namespace kernelpoint
#endif
