// State that does not depend on what was simulated: before a launch all of it is emptied or set, and what the launches
// before it left in caches and branch predictors is put back. Functional warming (SMARTS, Wunderlich et al., ISCA 2003,
// section 3).
#ifndef KERNELPOINT_MACSIM_REPLAY_H
#define KERNELPOINT_MACSIM_REPLAY_H

#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <queue>
#include <vector>

#include "all_knobs.h"
#include "caches.h"
#include "client.hpp"
#include "kept_bytes.h"
#include "kept_state.h"
#include "macsim.h"
#include "process_manager.h"

namespace kernelpoint {

class Replay {
public:
    // Called before the first cycle.
    void attach(macsim_c* base) {
        m_base = base;
        m_caches.attach(base);
        m_predictors.attach(base);
        m_kept.attach(base);
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
        const bool learn = m_predictors.learn();
        m_stated.history_bits = learn ? m_predictors.history_bits() : 0;
        m_stated.counter_bits = learn ? m_predictors.counter_bits() : 0;
        host->kept.bytes = &m_stated;
        host->kept.byte_count = sizeof(m_stated);
    }

    // Sets whose turn it is at the beginning of a launch, in all parts that take turns. Called between two cycles
    // while no warp runs.
    void set_turns(const process_s& application, uint64_t launch) {
        m_kept.set_turns(launch);
        m_kept.set_arbiters(launch, cores_of(application));
    }

    // Sets the turns, and all other state that earlier launches leave.
    void apply(const process_s& application, uint64_t launch, const kp_replay& before) {
        const std::vector<int> cores = cores_of(application);
        set_turns(application, launch);
        m_kept.fill_constant_caches(cores);
        m_kept.close_rows();
        m_caches.empty(cores);
        for (uint64_t i = 0; i < before.touch_count; ++i) {
            const kp_touch& touch = before.touches[i];
            m_caches.take(cores[core_of(touch) % cores.size()], touch);
        }
        const ReplayedPredictors replayed(before);
        for (uint32_t i = 0; i < replayed.cores() && i < cores.size(); ++i) m_predictors.set(cores[i], replayed, i);
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
        for (int taken = 0; !pool.empty() && (most == 0 || taken < most); ++taken, pool.pop())
            cores.push_back(pool.front());
        std::sort(cores.begin(), cores.end());
        return cores;
    }

    macsim_c* m_base = NULL;
    Caches m_caches;
    Predictors m_predictors;
    StatedPredictors m_stated;
    KeptState m_kept;
};

}  // namespace kernelpoint
#endif
