// State that does not depend on what was simulated: before a launch all of it is emptied or set, and what the launches
// before it left in caches and branch predictors is put back. Functional warming (SMARTS, Wunderlich et al., ISCA 2003,
// section 3).
#ifndef KERNELPOINT_MACSIM_REPLAY_H
#define KERNELPOINT_MACSIM_REPLAY_H

#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <map>
#include <queue>
#include <vector>

#include "all_knobs.h"
#include "application.h"
#include "caches.h"
#include "client.hpp"
#include "kept_state.h"
#include "macsim.h"

namespace kernelpoint {

class Replay {
public:
    // Before the first cycle. `alone`: no other application uses the GPU.
    void attach(macsim_c* base, bool alone) {
        m_base = base;
        m_alone = alone;
        m_caches.attach(base);
        m_predictors.attach(base);
        m_kept.attach(base);
        m_drain.attach(base);
    }

    // The state that is kept between launches, and what runs at a time.
    void describe(Host* host) const {
        const char* knob = *m_base->m_knobs->KNOB_ENABLE_PHYSICAL_MAPPING ? "enable_physical_mapping"
                           : *m_base->m_knobs->KNOB_PTX_COMMON_CACHE      ? "ptx_common_cache"
                                                                          : NULL;
        if (knob != NULL) {
            fprintf(stderr, "kernelpoint: %s: skipped launches are not replayed\n", knob);
            return;
        }
        const std::vector<int> cores = gpu_cores();
        const size_t share = static_cast<size_t>(int(*m_base->m_knobs->KNOB_MAX_NUM_CORE_PER_APPL));
        host->flags |= KP_HOST_KEEPS_L1;
        host->state_lines = 2 * m_caches.lines(cores);  // sets fill unevenly, and cores share lines
        host->sms = static_cast<uint32_t>(share == 0 ? cores.size() : std::min(share, cores.size()));
        host->ctas_per_sm = static_cast<uint32_t>(int(*m_base->m_knobs->KNOB_MAX_BLOCK_PER_CORE));
        host->warps_per_sm = static_cast<uint32_t>(m_base->m_core_pointers[cores[0]]->get_max_threads_per_core());
        if (!m_predictors.learn()) return;
        host->predictor_history_bits = m_predictors.history_bits();
        host->predictor_counter_bits = m_predictors.counter_bits();
    }

    // True if the launch has to wait until nothing runs any more.
    bool needs_quiet() const { return m_alone; }

    // Only cores of the application where others run beside it; then what all share is left as it is.
    void apply(const Application& here, const kp_replay& before) {
        const std::vector<int> cores = cores_of(here);
        if (m_alone) {
            m_drain.wait(here.at.launch);
            m_kept.set(here.at.launch, cores);
        }
        m_caches.empty(cores, m_alone);
        for (uint64_t i = 0; i < before.touch_count; ++i) {
            const kp_touch& touch = before.touches[i];
            m_caches.take(cores[touch.sm % cores.size()], touch, here.process_id);
        }
        for (uint64_t i = 0; i < before.predictor_count && i < cores.size(); ++i)
            m_predictors.set(cores[i], before.predictors[i]);
    }

private:
    std::vector<int> gpu_cores() const {
        std::vector<int> cores;
        for (int i = 0; i < int(*m_base->m_knobs->KNOB_NUM_SIM_CORES); ++i)
            if (is_gpu(m_base->m_core_pointers[i])) cores.push_back(i);
        return cores;
    }

    // An application's cores, with those that MacSim gives it when the kernel is set up.
    std::vector<int> cores_of(const Application& here) const {
        std::vector<int> cores;
        for (std::map<int, bool>::const_iterator core = here.process->m_core_list.begin();
             core != here.process->m_core_list.end(); ++core)
            cores.push_back(core->first);
        const int most = *m_base->m_knobs->KNOB_MAX_NUM_CORE_PER_APPL;
        std::queue<int> pool = *here.process->m_core_pool;
        for (int taken = 0; !pool.empty() && (most == 0 || taken < most); ++taken, pool.pop())
            cores.push_back(pool.front());
        std::sort(cores.begin(), cores.end());
        return cores;
    }

    macsim_c* m_base = NULL;
    bool m_alone = false;
    Caches m_caches;
    Predictors m_predictors;
    KeptState m_kept;
    DrainAndAlign m_drain;
};

}  // namespace kernelpoint
#endif
