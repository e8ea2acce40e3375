// State beside the L2 and the rows of DRAM that the simulator keeps between launches: positions of its round robins,
// clocks, L1 caches. It is set before a launch to what depends on the launch only, never on what was simulated before
// it.
#ifndef KERNELPOINT_ACCELSIM_KEPT_STATE_H
#define KERNELPOINT_ACCELSIM_KEPT_STATE_H

#include <stdint.h>

#include <algorithm>
#include <vector>

#include "crossbar_state.h"
#include "draws.hpp"
#include "members.h"
#include "statistics_reader.h"
#include "warp_arbiters.h"

namespace kernelpoint {

// Model: CTAs go to the clusters in turn, so the cluster that comes next follows from the CTAs of all launches before,
// and so do the warps that each core has fetched and issued last (WarpArbiters). A core cycles while it holds a CTA,
// and with each cycle the turns of its schedulers and collectors go on. How many cycles that were hangs on all launches
// before, which were not all simulated: it is drawn for each launch and core, evenly, as is how far the clocks are out
// of step. Any fixed value would favour some kernels, always to the same side. A core that has run no CTA is as at the
// start of a run. DRAM's turns begin as there, L1 caches of instructions and constants empty.
class KeptState {
public:
    explicit KeptState(gpgpu_sim* sim) : m_sim(sim) {}

    // Lets requests end that are on their way still (write-backs): not counted as anybody's cycles. They would meet an
    // L2 with other contents.
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

    // The warp that ended last dispatched alone: from the first collector unit of its scheduler.
    void set_collector(shader_core_ctx& core, const LastWarps& turn, unsigned cycles) {
        const shader_core_config* config = m_sim->getShaderCoreConfig();
        const size_t schedulers = (core.*reach(Schedulers())).size();
        const size_t last = config->sub_core_model ? static_cast<size_t>(std::max(turn.fetched, 0)) % schedulers : 0;
        const size_t each = config->gpgpu_operand_collector_num_units_gen / schedulers;
        InsideCore::set_collector_of(core, cycles * config->reg_file_port_throughput,
                                     static_cast<unsigned>(last * each));
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

    // Clocks of one frequency never get out of step.
    static double start(Draws& draws, double period, double core_period) {
        return period == core_period ? 0 : period * draws.below_one();
    }

    gpgpu_sim* m_sim;
};

}  // namespace kernelpoint
#endif
