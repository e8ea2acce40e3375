// Arbiters of the built-in crossbar (-network_mode 2): an output goes on behind the input that it served last.
#ifndef KERNELPOINT_ACCELSIM_CROSSBAR_STATE_H
#define KERNELPOINT_ACCELSIM_CROSSBAR_STATE_H

#include <stdint.h>

#include <algorithm>
#include <vector>

#include "abi.h"
#include "draws.hpp"
#include "members.h"

extern LocalInterconnect* g_localicnt_interface;

namespace kernelpoint {

// Model: which of them was served last hangs on the cycles before, so it is drawn, for each output by itself. A slice
// of the L2 was asked last by a cluster that holds a CTA of the newest launch; a cluster that has run a CTA was
// answered last by any slice. Outputs that all begin with the same input make the launch favour it, always to the same
// side.
class CrossbarState {
public:
    CrossbarState(unsigned clusters, const kp_replay& before) : m_clusters(clusters), m_before(before) {}

    // Inputs and outputs of each router are the clusters, then the slices.
    void set(Draws& draws) const {
        if (g_localicnt_interface == NULL) return;
        std::vector<xbar_router*>& routers = g_localicnt_interface->*reach(Routers());
        for (size_t i = 0; i < routers.size(); ++i) {
            std::vector<unsigned>& next = routers[i]->*reach(NextInputs());
            const unsigned nodes = static_cast<unsigned>(next.size());
            for (unsigned to = 0; to < nodes; ++to)
                next[to] = to < m_clusters ? slice(to, nodes, draws) : cluster(draws);
            routers[i]->*reach(NextInput()) = m_before.earlier_ctas > 0 ? draws.below(nodes) : 0;
        }
    }

private:
    unsigned slice(unsigned cluster, unsigned nodes, Draws& draws) const {
        return m_before.earlier_ctas > cluster ? m_clusters + draws.below(nodes - m_clusters) : 0;
    }

    unsigned cluster(Draws& draws) const {
        if (m_before.earlier_ctas == 0) return 0;
        uint64_t newest = 0;
        for (uint64_t i = 0; i < m_before.grid_count && newest == 0; ++i) newest = m_before.grids[i].ctas;
        if (newest == 0 || newest > m_clusters) newest = m_clusters;
        const uint64_t back = 1 + draws.below(static_cast<unsigned>(newest));
        return static_cast<unsigned>((m_before.earlier_ctas + m_clusters - back) % m_clusters + 1);
    }

    unsigned m_clusters;
    const kp_replay& m_before;
};

}  // namespace kernelpoint
#endif
