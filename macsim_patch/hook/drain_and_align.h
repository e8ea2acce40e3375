// Cycles in which no warp runs: until requests of the launch before are served, and to a given phase of the clocks.
#ifndef KERNELPOINT_MACSIM_DRAIN_AND_ALIGN_H
#define KERNELPOINT_MACSIM_DRAIN_AND_ALIGN_H

#include <stdint.h>

#include <algorithm>
#include <vector>

#include "all_knobs.h"
#include "draws.hpp"
#include "macsim.h"
#include "memory.h"
#include "statistics_reader.h"

namespace kernelpoint {

class DrainAndAlign {
public:
    DrainAndAlign() : m_base(NULL), m_period(1) {}

    // Before the first cycle: nothing is on its way.
    void attach(macsim_c* base) {
        m_base = base;
        const uint64_t cores = static_cast<uint64_t>(int(*base->m_knobs->KNOB_NUM_SIM_CORES));
        const uint64_t l3 = static_cast<uint64_t>(int(*base->m_knobs->KNOB_NUM_L3));
        const uint64_t llc = static_cast<uint64_t>(int(*base->m_knobs->KNOB_NUM_LLC));
        const uint64_t dram = static_cast<uint64_t>(int(*base->m_knobs->KNOB_DRAM_NUM_MC));
        for (uint64_t core = 0; core < cores; ++core) m_free.push_back(free_requests(core));
        // Cores, caches and routers take turns by the number of the cycle.
        const uint64_t turns[] = {cores, l3, llc, cores + l3 + llc + dram};
        for (size_t i = 0; i < 4; ++i) m_period = turns[i] == 0 ? m_period : common(m_period, turns[i]);
        if (m_period > 100000) m_period = 1;  // the wait would cost more than the launch
    }

    // Runs until nothing is on its way and the clocks stand as this launch finds them.
    void wait(uint64_t launch) {
        const uint64_t phase = Draws(launch).below(static_cast<unsigned>(m_period));
        while (!is_quiet()) cycle();
        while (m_base->m_simulation_cycle % m_period != phase) cycle();
    }

private:
    size_t free_requests(uint64_t core) const {
        return static_cast<size_t>(m_base->m_memory->get_num_avail_entry(static_cast<int>(core)));
    }

    bool is_quiet() const {
        for (size_t core = 0; core < m_free.size(); ++core)
            if (free_requests(core) != m_free[core]) return false;
        return true;
    }

    // MacSim ends where no core has run in a cycle: that is not to be seen.
    void cycle() {
        m_base->m_termination_count = 0;
        std::fill(m_base->m_termination_check, m_base->m_termination_check + m_free.size(), false);
        m_base->run_a_cycle();
    }

    static uint64_t common(uint64_t a, uint64_t b) {
        uint64_t x = a, y = b;
        while (y != 0) {
            const uint64_t left = x % y;
            x = y;
            y = left;
        }
        return a / x * b;
    }

    macsim_c* m_base;
    uint64_t m_period;
    std::vector<size_t> m_free;  // requests that each core can have on their way
};

}  // namespace kernelpoint
#endif
