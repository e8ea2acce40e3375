// State beside the L2 and the rows of DRAM that the simulator keeps between launches: positions of its round robins,
// clocks, L1 caches. It is set before a launch to what depends on the launch only, never on what was simulated before
// it.
#ifndef KERNELPOINT_ACCELSIM_KEPT_STATE_H
#define KERNELPOINT_ACCELSIM_KEPT_STATE_H

#include <stdint.h>

#include <algorithm>
#include <vector>

#include "abi.h"
#include "draws.hpp"
#include "members.h"
#include "statistics_reader.h"

extern LocalInterconnect* g_localicnt_interface;

namespace kernelpoint {

// Sizes of the simulated GPU's SMs.
struct SmShape {
    unsigned clusters, cores, warps, schedulers;  // cores of a cluster, warps and schedulers of a core
};

// Numbers of the warps of one core that fetched and issued last; -1: none.
struct LastWarps {
    int fetched;
    std::vector<int> issued;  // by scheduler
};

// Warps that each SM fetched and issued last, from which its round-robin schedulers continue.
//
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

    // Number of a launch's CTAs that this core gets.
    uint64_t ctas_of(const kp_grid& grid, uint64_t ctas_before, unsigned cluster, unsigned core) const {
        const uint64_t clusters = m_shape.clusters;
        const uint64_t first = (cluster + clusters - ctas_before % clusters) % clusters + clusters * core;
        return grid.ctas > first ? (grid.ctas - 1 - first) / (clusters * m_shape.cores) + 1 : 0;
    }

    unsigned at_a_time(const kp_grid& grid, uint64_t held) const {
        const uint64_t most = m_shape.warps / std::max(grid.warps, 1u);
        return static_cast<unsigned>(std::max<uint64_t>(std::min(held, most), 1));
    }

    // Adds a CTA with its warps from `first` on; they are younger than those added before.
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

// Arbiters of the built-in crossbar (-network_mode 2). An output continues after the input that it served last.
//
// Model: which of them was served last hangs on the cycles before, so it is drawn, for each output by itself. A slice
// of the L2 was asked last by a cluster that holds a CTA of the newest launch; a cluster that has run a CTA was
// answered last by any slice. Outputs that all begin with the same input make the launch favour it, always to the same
// side.
class CrossbarState {
public:
    CrossbarState(unsigned clusters, const kp_replay& before) : m_clusters(clusters), m_before(before) {}

    // Sets the arbiters of each router; its inputs and outputs are first the clusters, then the L2 slices.
    void set(Draws& draws) const {
        if (g_localicnt_interface == NULL) return;
        std::vector<xbar_router*>& routers = g_localicnt_interface->*reach(Routers());
        for (size_t i = 0; i < routers.size(); ++i) {
            std::vector<unsigned>& next = routers[i]->*reach(NextInputs());
            const unsigned nodes = static_cast<unsigned>(next.size());
            for (unsigned to = 0; to < nodes; ++to) next[to] = to < m_clusters ? slice(to, nodes, draws) : cluster(draws);
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

// Sets the state of clusters, cores and clocks before a launch. Model:
//   clusters, warps   CTAs go to the clusters in turn. So the next cluster, and the warps that each core has fetched
//                     and issued last (WarpArbiters), follow from the number of CTAs of all earlier launches.
//   turns of a core   the turns of schedulers and collectors depend on the number of cycles in which the core held a
//                     CTA. Not all earlier launches are simulated, so this number is drawn for each launch and core. A
//                     fixed value would favour some kernels. A core that has run no CTA is as at the start of a run.
//   clocks            how far they are out of step is drawn too.
//   others            DRAM's turns begin as at the start of a run; L1 caches of instructions and constants are empty.
class KeptState {
public:
    explicit KeptState(gpgpu_sim* sim) : m_sim(sim) {}

    // Runs the simulator until all requests on their way (write-backs) have ended. These cycles belong to no launch.
    // Otherwise the requests would meet another L2.
    void drain() {
        const unsigned long long cycles = m_sim->gpu_sim_cycle;
        while (m_sim->active()) m_sim->cycle();
        m_sim->gpu_sim_cycle = cycles;
    }

    void set(uint64_t launch, const kp_replay& before) {
        const unsigned clusters = m_sim->get_config().num_cluster();
        m_sim->*reach(ClusterIssuedLast()) = static_cast<unsigned>((clusters - 1 + before.earlier_ctas) % clusters);
        Draws draws(launch);
        for (unsigned i = 0; i < clusters; ++i) set(i, before, draws);
        CrossbarState(clusters, before).set(draws);
        for (unsigned i = 0; i < m_sim->getMemoryConfig()->m_n_mem; ++i) reset(*Inside::channel(m_sim, i));
        set_clocks(draws);
    }

private:
    void set(unsigned number, const kp_replay& before, Draws& draws) {
        simt_core_cluster& cluster = *Inside::cluster(m_sim, number);
        cluster.cache_invalidate();
        std::list<unsigned>& order = cluster.*reach(CoreOrder());
        order.sort();
        cluster.*reach(CoreIssuedLast()) = static_cast<unsigned>(order.size() - 1);
        for (unsigned i = 0; i < order.size(); ++i) {
            shader_core_ctx& core = *(cluster.*reach(Cores()))[i];
            const SmShape shape = {m_sim->get_config().num_cluster(), static_cast<unsigned>(order.size()),
                                   m_sim->getShaderCoreConfig()->max_warps_per_shader,
                                   static_cast<unsigned>((core.*reach(Schedulers())).size())};
            set(core, WarpArbiters(shape, before).of(number, i, draws), draws);
        }
    }

    void set(shader_core_ctx& core, const LastWarps& turn, Draws& draws) {
        std::vector<scheduler_unit*>& schedulers = core.*reach(Schedulers());
        const unsigned cycles = turn.fetched < 0 ? 0 : draws.below(1u << 16);
        core.*reach(WarpFetchedLast()) = std::max(turn.fetched, 0);
        core.*reach(FirstScheduler()) = static_cast<unsigned>(cycles % schedulers.size());
        for (size_t i = 0; i < schedulers.size(); ++i) set(*schedulers[i], turn.issued[i], schedulers.size());
        set_collector(core, turn, cycles);
        (core.*reach(InstructionCache()))->invalidate();
        ldst_unit* memory = core.*reach(MemoryUnit());
        (memory->*reach(ConstantCache()))->invalidate();
        memory->*reach(NextWriteback()) = 0;  // as after a load of global memory
    }

    static void set(scheduler_unit& scheduler, int issued, size_t schedulers) {
        scheduler.done_adding_supervised_warps();
        if (issued < 0) return;
        const std::vector<shd_warp_t*>& own = scheduler.*reach(OwnWarps());
        const size_t at = static_cast<size_t>(issued) / schedulers;
        if (at < own.size()) scheduler.*reach(WarpIssuedLast()) = own.begin() + static_cast<ptrdiff_t>(at);
    }

    // Sets a collector: the warp that ended last dispatched alone, from the first collector unit of its scheduler.
    void set_collector(shader_core_ctx& core, const LastWarps& turn, unsigned cycles) {
        const shader_core_config* config = m_sim->getShaderCoreConfig();
        const size_t schedulers = (core.*reach(Schedulers())).size();
        const size_t last = config->sub_core_model ? static_cast<size_t>(std::max(turn.fetched, 0)) % schedulers : 0;
        const size_t each = config->gpgpu_operand_collector_num_units_gen / schedulers;
        InsideCore::set_collector_of(core, cycles * config->reg_file_port_throughput, static_cast<unsigned>(last * each));
    }

    void reset(memory_partition_unit& partition) {
        const memory_config* config = m_sim->getMemoryConfig();
        reset_dram_arbiter(partition, static_cast<int>(config->m_n_sub_partition_per_memory_channel) - 1);
        dram_t* dram = partition.*reach(Dram());
        dram->*reach(FirstBank()) = 0;
        dram->*reach(LastTransfer()) = READ;
    }

    void set_clocks(Draws& draws) {
        const gpgpu_sim_config& config = m_sim->get_config();
        const double core = config.*reach(CorePeriod());
        m_sim->*reach(CoreTime()) = 0;
        m_sim->*reach(NetworkTime()) = start(draws, config.*reach(NetworkPeriod()), core);
        m_sim->*reach(L2Time()) = start(draws, config.*reach(L2Period()), core);
        m_sim->*reach(DramTime()) = start(draws, config.*reach(DramPeriod()), core);
    }

    // Draws the phase of a clock. A clock with the core's frequency keeps its phase.
    static double start(Draws& draws, double period, double core_period) {
        return period == core_period ? 0 : period * draws.below_one();
    }

    gpgpu_sim* m_sim;
};

}  // namespace kernelpoint
#endif
