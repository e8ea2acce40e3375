// The warps that each SM has fetched and issued last: its round robins go on behind them.
#ifndef KERNELPOINT_ACCELSIM_WARP_ARBITERS_H
#define KERNELPOINT_ACCELSIM_WARP_ARBITERS_H

#include <stdint.h>

#include <algorithm>
#include <vector>

#include "abi.h"
#include "draws.hpp"

namespace kernelpoint {

// Shape of the GPU.
struct SmShape {
    unsigned clusters, cores, warps, schedulers;  // cores of a cluster, warps and schedulers of a core
};

// Of one core, by its warps' numbers there; -1: none.
struct LastWarps {
    int fetched;
    std::vector<int> issued;  // by scheduler
};

// Model: CTAs go to the clusters in turn, and in a cluster to the cores; those that a core holds at a time take its
// warps from the first on. The warp that the trace says ends last in a CTA is the last to be fetched and issued. What a
// trace does not say is drawn evenly: the CTA of a core that ends last, and the last warps of the other schedulers.
class WarpArbiters {
public:
    WarpArbiters(const SmShape& shape, const kp_replay& before) : m_shape(shape), m_before(before) {}

    LastWarps of(unsigned cluster, unsigned core, Draws& draws) const {
        LastWarps turn = {-1, std::vector<int>(m_shape.schedulers, -1)};
        uint64_t ctas_before = m_before.earlier_ctas;
        for (uint64_t i = 0; i < m_before.grid_count && !is_known(turn); ++i) {
            const kp_grid& grid = m_before.grids[i];
            ctas_before -= grid.ctas;
            const uint64_t held = ctas_of(grid, ctas_before, cluster, core);
            if (held > 0) add(grid, draws.below(at_a_time(grid, held)) * grid.warps, draws, &turn);
        }
        return turn;
    }

private:
    static bool is_known(const LastWarps& turn) {
        return std::find(turn.issued.begin(), turn.issued.end(), -1) == turn.issued.end();
    }

    // CTAs of a launch that this core gets.
    uint64_t ctas_of(const kp_grid& grid, uint64_t ctas_before, unsigned cluster, unsigned core) const {
        const uint64_t clusters = m_shape.clusters;
        const uint64_t first = (cluster + clusters - ctas_before % clusters) % clusters + clusters * core;
        return grid.ctas > first ? (grid.ctas - 1 - first) / (clusters * m_shape.cores) + 1 : 0;
    }

    unsigned at_a_time(const kp_grid& grid, uint64_t held) const {
        const uint64_t most = m_shape.warps / std::max(grid.warps, 1u);
        return static_cast<unsigned>(std::max<uint64_t>(std::min(held, most), 1));
    }

    // A CTA with its warps from `first` on, older than those added before.
    void add(const kp_grid& grid, unsigned first, Draws& draws, LastWarps* turn) const {
        const unsigned last = first + grid.last_warp, schedulers = m_shape.schedulers;
        if (turn->fetched < 0) turn->fetched = static_cast<int>(last % m_shape.warps);
        for (unsigned i = 0; i < schedulers; ++i) {
            const unsigned own = first + (i + schedulers - first % schedulers) % schedulers;  // its first warp
            if (turn->issued[i] >= 0 || own >= first + grid.warps) continue;
            const unsigned warps = (first + grid.warps - 1 - own) / schedulers + 1;
            const unsigned issued = last % schedulers == i ? last : own + schedulers * draws.below(warps);
            turn->issued[i] = static_cast<int>(issued % m_shape.warps);
        }
    }

    SmShape m_shape;
    const kp_replay& m_before;
};

}  // namespace kernelpoint
#endif
