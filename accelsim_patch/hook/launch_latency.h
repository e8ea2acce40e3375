// The constant latency of a launch (-gpgpu_kernel_launch_latency, -gpgpu_TB_launch_latency): counted, not simulated.
#ifndef KERNELPOINT_ACCELSIM_LAUNCH_LATENCY_H
#define KERNELPOINT_ACCELSIM_LAUNCH_LATENCY_H

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <list>
#include <string>
#include <vector>

#include "gpgpu-sim/icnt_wrapper.h"
#include "members.h"
#include "options.h"
#include "statistics_reader.h"

extern LocalInterconnect* g_localicnt_interface;

namespace kernelpoint {

// Advances the built-in crossbar (-network_mode 2) over cycles in which it holds no packet. Model: exact. A router
// without packets counts its cycles. iSLIP moves its turns with packets only, the naive arbiter with each cycle;
// conflicts and the sums of buffers' lengths get zeros.
inline void advance_empty(xbar_router& router, unsigned long long ticks) {
    router.cycles += ticks;
    if (router.*reach(Arbiter()) != NAIVE_RR) return;
    unsigned& next = router.*reach(NextInput());
    next = static_cast<unsigned>((next + ticks) % (router.*reach(NextInputs())).size());
}

// Runs one cycle of the network, for routers that hold a packet only. The simulator's own function looks at each pair
// of input and output in every router.
inline void transfer_packets() {
    std::vector<xbar_router*>& routers = g_localicnt_interface->*reach(Routers());
    for (size_t i = 0; i < routers.size(); ++i)
        if (routers[i]->Busy())
            routers[i]->Advance();
        else
            advance_empty(*routers[i], 1);
}

// Makes the simulator call transfer_packets() in place of its own network function, or its own again.
class EmptyCrossbar {
public:
    EmptyCrossbar() : m_native(NULL) {}

    void skip(bool skips) {
        if (m_native == NULL) m_native = icnt_transfer;
        icnt_transfer = skips ? &transfer_packets : m_native;
    }

private:
    void (*m_native)();
};

// Numbers of ticks of the four clocks.
struct Ticks {
    Ticks() : core(0), network(0), l2(0), dram(0) {}
    unsigned long long core, network, l2, dram;
};

// A GPU without work: tells whether it is idle, and advances its clocks and counters over idle ticks.
//
// Model: exact. While is_idle() is true and no CTA is issued, a call of gpgpu_sim::cycle() changes nothing but what
// advance() changes, and leaves is_idle() true. Beside each part stands the work of a tick that finds nothing to do.
// Work that depends on the cycle's number (samples of statistics and power, the check for deadlocks) and the L1's
// flush are left to the simulator's own ticks: LaunchLatency stops before them.
class IdleGpu {
public:
    explicit IdleGpu(gpgpu_sim* sim) : m_sim(sim), m_memory(sim->getMemoryConfig()) {}

    // True if no SM holds a CTA, no request is on its way, and no DRAM timer runs.
    bool is_idle() const {
        if (g_localicnt_interface == NULL || g_localicnt_interface->Busy()) return false;
        for (unsigned i = 0; i < m_sim->get_config().num_cluster(); ++i)
            if (!is_idle(*Inside::cluster(m_sim, i))) return false;
        for (unsigned i = 0; i < m_memory->m_n_mem_sub_partition; ++i)
            if (!is_idle(*Inside::l2(m_sim, i))) return false;
        for (unsigned i = 0; i < m_memory->m_n_mem; ++i)
            if (!is_idle(*Inside::channel(m_sim, i))) return false;
        return true;
    }

    // Changes the state as calls of cycle() would, up to this number of core ticks.
    void advance(unsigned long long core_ticks) {
        const Ticks ticks = advance_clocks(core_ticks);
        advance_clusters(ticks.core);
        std::vector<xbar_router*>& routers = g_localicnt_interface->*reach(Routers());
        for (size_t i = 0; i < routers.size(); ++i) advance_empty(*routers[i], ticks.network);
        for (unsigned i = 0; i < m_memory->m_n_mem_sub_partition; ++i) advance(*Inside::l2(m_sim, i), ticks.l2);
        for (unsigned i = 0; i < m_memory->m_n_mem; ++i) advance(*Inside::channel(m_sim, i), ticks.dram);
        m_sim->gpu_sim_cycle += ticks.core;
    }

private:
    // The simulator's own rule moves its clocks, so their phases, sums of floating-point numbers, are those of ticks.
    Ticks advance_clocks(unsigned long long core_ticks) {
        Ticks ticks;
        while (ticks.core < core_ticks) {
            const double core = m_sim->*reach(CoreTime()), network = m_sim->*reach(NetworkTime());
            const double l2 = m_sim->*reach(L2Time()), dram = m_sim->*reach(DramTime());
            (m_sim->*reach(NextClocks()))();
            ticks.core += m_sim->*reach(CoreTime()) != core;
            ticks.network += m_sim->*reach(NetworkTime()) != network;
            ticks.l2 += m_sim->*reach(L2Time()) != l2;
            ticks.dram += m_sim->*reach(DramTime()) != dram;
        }
        return ticks;
    }

    static bool is_idle(simt_core_cluster& cluster) {
        return cluster.get_not_completed() == 0 && cluster.get_n_active_sms() == 0 && (cluster.*reach(Responses())).empty();
    }

    // An SM without a CTA returns at once from its cycle, so its round robins stand still; only the order in which a
    // cluster goes through its SMs moves on. The duty cycle, a running sum, gets the last one of each SM once more: in
    // single steps, since floats are rounded in each. The number of active SMs gets zeros.
    void advance_clusters(unsigned long long ticks) {
        const unsigned clusters = m_sim->get_config().num_cluster(), sms = m_sim->get_config().num_shader();
        for (unsigned i = 0; i < clusters && m_sim->getShaderCoreConfig()->simt_core_sim_order == 1; ++i) {
            std::list<unsigned>& order = Inside::cluster(m_sim, i)->*reach(CoreOrder());
            for (unsigned long long step = ticks % order.size(); step > 0; --step)
                order.splice(order.end(), order, order.begin());
        }
        float duty = 0;
        for (unsigned i = 0; i < sms; ++i) duty += Inside::cores(m_sim)->m_pipeline_duty_cycle[i];
        duty = duty / static_cast<float>(sms);
        for (unsigned long long step = 0; step < ticks && duty != 0; ++step) *Inside::duty_cycle(m_sim) += duty;
    }

    // True if an L2 slice has no request to answer, sent none to DRAM itself (write-backs), and has free ports.
    static bool is_idle(memory_sub_partition& slice) {
        baseline_cache& cache = *(slice.*reach(L2Cache()));
        return !slice.busy() && !holds_delayed(slice) && (slice.*reach(IcntToL2()))->empty() && slice.L2_dram_queue_empty() &&
               (slice.*reach(DramToL2()))->empty() && (slice.*reach(L2ToIcnt()))->empty() && !cache.access_ready() &&
               (cache.*reach(MissQueue())).empty() && cache.data_port_free() && cache.fill_port_free();
    }

    // Advances an L2 slice without requests: it counts the cycles in which its ports could be used.
    static void advance(memory_sub_partition& slice, unsigned long long ticks) {
        baseline_cache& cache = *(slice.*reach(L2Cache()));
        (cache.*reach(CacheStats())).*reach(PortCycles()) += ticks;
    }

    bool is_idle(memory_partition_unit& channel) const {
        dram_t& dram = *(channel.*reach(Dram()));
        return !holds_delayed(channel) && dram.return_queue_top() == NULL && (dram.*reach(Requests()))->empty() &&
               is_idle(*(dram.*reach(Transfers()))) && is_idle(dram.*reach(Scheduler())) && are_timers_over(dram);
    }

    // True if the transfer pipeline is empty. It moves and counts empty places, but nothing reads that count.
    static bool is_idle(const fifo_pipeline<dram_req_t>& transfers) {
        for (const fifo_data<dram_req_t>* at = transfers.*reach(TransfersHead()); at != NULL; at = at->m_next)
            if (at->m_data != NULL) return false;
        return transfers.get_length() == transfers.*reach(TransfersLeast());
    }

    // True if the DRAM scheduler has nothing to do: no reads, and fewer writes than the high watermark at which it
    // begins to write.
    bool is_idle(frfcfs_scheduler* scheduler) const {
        if (scheduler == NULL) return true;  // in order (-gpgpu_dram_scheduler 0): it keeps no requests of its own
        const unsigned writes = scheduler->num_write_pending();
        return scheduler->num_pending() == 0 && scheduler->*reach(SchedulerMode()) == READ_MODE &&
               (writes == 0 || writes < m_memory->write_high_watermark);
    }

    bool are_timers_over(dram_t& dram) const {
        unsigned left = dram.*reach(RowTimer()) | dram.*reach(ColumnTimer()) | dram.*reach(ReadToWriteTimer()) |
                        dram.*reach(WriteToReadTimer());
        for (unsigned i = 0; i < m_memory->nbk; ++i) {
            const bank_t& bank = *(dram.*reach(Banks()))[i];
            if (bank.mrq != NULL) return false;
            left |= bank.RCDc | bank.RCDWRc | bank.RASc | bank.RPc | bank.RCc | bank.WTPc | bank.RTPc;
        }
        for (unsigned i = 0; i < m_memory->nbkgrp; ++i)
            left |= (dram.*reach(BankGroups()))[i]->CCDLc | (dram.*reach(BankGroups()))[i]->RTPLc;
        return left == 0;
    }

    // A channel without requests whose timers are over issues nothing: it counts that, and samples its queue's length.
    // DRAM is not refreshed in this simulator. Open rows stay open, and whose turn it is moves with requests only.
    void advance(memory_partition_unit& channel, unsigned long long ticks) {
        dram_t& dram = *(channel.*reach(Dram()));
        count_idle(dram, ticks);
        for (unsigned i = 0; i < m_memory->nbk; ++i) (dram.*reach(Banks()))[i]->n_idle += static_cast<unsigned>(ticks);
        for (unsigned long long i = 0; i < ticks; ++i) dram.dram_log(SAMPLELOG);
    }

    gpgpu_sim* m_sim;
    const memory_config* m_memory;
};

// Skips idle ticks of a launch's constant latency. The simulator's own ticks are those in which the GPU is not idle
// yet; those that a cycle's number gives something to do, and the ones right before them, so that everything derived
// anew in each tick is; and the last ones before the first CTA.
class LaunchLatency {
public:
    explicit LaunchLatency(gpgpu_sim* sim) : m_sim(sim), m_gpu(sim) {}

    // Called after each tick; `due` is the launch's cycle at which its progress is reported next.
    void skip(kernel_info_t* kernel, uint64_t due) {
        const unsigned long long ticks = skippable(kernel->m_kernel_TB_latency, due);
        if (ticks == 0 || !m_gpu.is_idle()) return;
        m_gpu.advance(ticks);
        kernel->m_kernel_TB_latency -= static_cast<unsigned>(ticks);
    }

private:
    enum { kOwnTicks = 8, kDeadlockCheck = 50000 };  // each clock ticks at least once in so many of the core's

    // Largest number of ticks that can be skipped now. The next tick that has something to do then follows after
    // kOwnTicks ordinary ones.
    unsigned long long skippable(unsigned long long latency, uint64_t due) const {
        const gpgpu_sim_config& config = m_sim->get_config();
        const unsigned long long cycle = m_sim->gpu_sim_cycle, all = m_sim->gpu_tot_sim_cycle + cycle;
        const auto interval = static_cast<unsigned long long>(config.*reach(SampleInterval()));
        unsigned long long ticks = std::min(latency, until(cycle, kDeadlockCheck));
        ticks = std::min(ticks, until(cycle, interval));
        if (config.g_power_simulation_enabled) ticks = std::min(ticks, until(static_cast<unsigned>(all), interval));
        if (due != UINT64_MAX) ticks = std::min<unsigned long long>(ticks, due > cycle ? due - cycle : 0);
        const unsigned long long limit = config.*reach(CycleLimit());
        if (limit > 0) ticks = std::min(ticks, limit > all ? limit - all : 0);
        return ticks > kOwnTicks ? ticks - kOwnTicks : 0;
    }

    // Number of ticks to the next multiple of `interval`.
    static unsigned long long until(unsigned long long cycle, unsigned long long interval) {
        return interval - cycle % interval;
    }

    gpgpu_sim* m_sim;
    IdleGpu m_gpu;
};

}  // namespace kernelpoint
#endif
