// Members that the simulator keeps to itself and the replay needs: object.*reach(Tag()).
#ifndef KERNELPOINT_ACCELSIM_MEMBERS_H
#define KERNELPOINT_ACCELSIM_MEMBERS_H

#include <list>
#include <vector>

#include "gpgpu-sim/dram.h"
#include "gpgpu-sim/dram_sched.h"
#include "gpgpu-sim/gpu-cache.h"
#include "gpgpu-sim/gpu-sim.h"
#include "gpgpu-sim/l2cache.h"
#include "gpgpu-sim/local_interconnect.h"
#include "gpgpu-sim/shader.h"
#include "reach.hpp"

namespace kernelpoint {

KERNELPOINT_REACH(ClusterIssuedLast, gpgpu_sim, unsigned, m_last_cluster_issue)
KERNELPOINT_REACH(CoreTime, gpgpu_sim, double, core_time)
KERNELPOINT_REACH(NetworkTime, gpgpu_sim, double, icnt_time)
KERNELPOINT_REACH(L2Time, gpgpu_sim, double, l2_time)
KERNELPOINT_REACH(DramTime, gpgpu_sim, double, dram_time)
typedef int NextClocksFunction();
KERNELPOINT_REACH(NextClocks, gpgpu_sim, NextClocksFunction, next_clock_domain)
KERNELPOINT_REACH(SampleInterval, gpgpu_sim_config, int, gpu_stat_sample_freq)
KERNELPOINT_REACH(CycleLimit, gpgpu_sim_config, unsigned long long, gpu_max_cycle_opt)
KERNELPOINT_REACH(CorePeriod, gpgpu_sim_config, double, core_period)
KERNELPOINT_REACH(NetworkPeriod, gpgpu_sim_config, double, icnt_period)
KERNELPOINT_REACH(L2Period, gpgpu_sim_config, double, l2_period)
KERNELPOINT_REACH(DramPeriod, gpgpu_sim_config, double, dram_period)

KERNELPOINT_REACH(L2Cache, memory_sub_partition, l2_cache*, m_L2cache)
KERNELPOINT_REACH(CopyOffset, memory_sub_partition, unsigned, m_memcpy_cycle_offset)
KERNELPOINT_REACH(IcntToL2, memory_sub_partition, fifo_pipeline<mem_fetch>*, m_icnt_L2_queue)
KERNELPOINT_REACH(DramToL2, memory_sub_partition, fifo_pipeline<mem_fetch>*, m_dram_L2_queue)
KERNELPOINT_REACH(L2ToIcnt, memory_sub_partition, fifo_pipeline<mem_fetch>*, m_L2_icnt_queue)
KERNELPOINT_REACH(MissQueue, baseline_cache, std::list<mem_fetch*>, m_miss_queue)
KERNELPOINT_REACH(CacheStats, baseline_cache, cache_stats, m_stats)
KERNELPOINT_REACH(PortCycles, cache_stats, unsigned long long, m_cache_port_available_cycles)
KERNELPOINT_REACH(Tags, baseline_cache, tag_array*, m_tag_array)
KERNELPOINT_REACH(IsUsed, tag_array, bool, is_used)

KERNELPOINT_REACH(Dram, memory_partition_unit, dram_t*, m_dram)
KERNELPOINT_REACH(Banks, dram_t, bank_t**, bk)
KERNELPOINT_REACH(BankGroups, dram_t, bankgrp_t**, bkgrp)
KERNELPOINT_REACH(Requests, dram_t, fifo_pipeline<dram_req_t>*, mrqq)
KERNELPOINT_REACH(Transfers, dram_t, fifo_pipeline<dram_req_t>*, rwq)
KERNELPOINT_REACH(TransfersHead, fifo_pipeline<dram_req_t>, fifo_data<dram_req_t>*, m_head)
KERNELPOINT_REACH(TransfersLeast, fifo_pipeline<dram_req_t>, unsigned, m_min_len)
KERNELPOINT_REACH(RowTimer, dram_t, unsigned, RRDc)
KERNELPOINT_REACH(ColumnTimer, dram_t, unsigned, CCDc)
KERNELPOINT_REACH(ReadToWriteTimer, dram_t, unsigned, RTWc)
KERNELPOINT_REACH(WriteToReadTimer, dram_t, unsigned, WTRc)
KERNELPOINT_REACH(Scheduler, dram_t, frfcfs_scheduler*, m_frfcfs_scheduler)
KERNELPOINT_REACH(SchedulerMode, frfcfs_scheduler, memory_mode, m_mode)
KERNELPOINT_REACH(FirstBank, dram_t, unsigned, prio)
KERNELPOINT_REACH(LastTransfer, dram_t, unsigned char, rw)

KERNELPOINT_REACH(Routers, LocalInterconnect, std::vector<xbar_router*>, net)
KERNELPOINT_REACH(NextInputs, xbar_router, std::vector<unsigned>, next_node)
KERNELPOINT_REACH(Arbiter, xbar_router, Arbiteration_type, arbit_type)
KERNELPOINT_REACH(NextInput, xbar_router, unsigned, next_node_id)

KERNELPOINT_REACH(Cores, simt_core_cluster, shader_core_ctx**, m_core)
KERNELPOINT_REACH(CoreIssuedLast, simt_core_cluster, unsigned, m_cta_issue_next_core)
KERNELPOINT_REACH(CoreOrder, simt_core_cluster, std::list<unsigned>, m_core_sim_order)
KERNELPOINT_REACH(Responses, simt_core_cluster, std::list<mem_fetch*>, m_response_fifo)
KERNELPOINT_REACH(FirstScheduler, shader_core_ctx, unsigned, Issue_Prio)
KERNELPOINT_REACH(WarpFetchedLast, shader_core_ctx, int, m_last_warp_fetched)
KERNELPOINT_REACH(Schedulers, shader_core_ctx, std::vector<scheduler_unit*>, schedulers)
KERNELPOINT_REACH(WarpIssuedLast, scheduler_unit, std::vector<shd_warp_t*>::const_iterator, m_last_supervised_issued)
KERNELPOINT_REACH(OwnWarps, scheduler_unit, std::vector<shd_warp_t*>, m_supervised_warps)
KERNELPOINT_REACH(InstructionCache, shader_core_ctx, read_only_cache*, m_L1I)
KERNELPOINT_REACH(MemoryUnit, shader_core_ctx, ldst_unit*, m_ldst_unit)
KERNELPOINT_REACH(ConstantCache, ldst_unit, read_only_cache*, m_L1C)
KERNELPOINT_REACH(NextWriteback, ldst_unit, unsigned, m_writeback_arb)

// Sets a collector's state. Private types cannot be named in a tag, only in the instantiation.
inline void set_collector(opndcoll_rfu_t& collector, unsigned steps, unsigned dispatched);
template <typename Arbiter, Arbiter arbiter, typename Last, Last last, typename Count, Count count, typename Units, Units units,
          typename UnitLast, UnitLast unit_last>
struct ReachCollector {
    friend void set_collector(opndcoll_rfu_t& collector, unsigned steps, unsigned dispatched) {
        set(collector, steps, dispatched);
    }
    // Sets the state that a collector has after this number of steps, if its first unit dispatched last.
    static void set(opndcoll_rfu_t& collector, unsigned steps, unsigned dispatched) {
        (collector.*arbiter).*last = steps % (collector.*arbiter).*count;
        for (size_t i = 0; i < (collector.*units).size(); ++i) (collector.*units)[i].*unit_last = i == 0 ? dispatched : 0;
    }
};
template struct ReachCollector<decltype(&opndcoll_rfu_t::m_arbiter), &opndcoll_rfu_t::m_arbiter,
                               decltype(&opndcoll_rfu_t::arbiter_t::m_last_cu), &opndcoll_rfu_t::arbiter_t::m_last_cu,
                               decltype(&opndcoll_rfu_t::arbiter_t::m_num_collectors),
                               &opndcoll_rfu_t::arbiter_t::m_num_collectors, decltype(&opndcoll_rfu_t::m_dispatch_units),
                               &opndcoll_rfu_t::m_dispatch_units, decltype(&opndcoll_rfu_t::dispatch_unit_t::m_last_cu),
                               &opndcoll_rfu_t::dispatch_unit_t::m_last_cu>;

// Collector state that all kinds share; version 2.0 keeps a pointer to it. The simple kind takes no turns.
template <typename Base>
void set_collector(Base* collector, unsigned steps, unsigned dispatched) {
    opndcoll_rfu_t* taking_turns = dynamic_cast<opndcoll_rfu_t*>(collector);
    if (taking_turns != NULL) set_collector(*taking_turns, steps, dispatched);
}

struct InsideCore : public shader_core_ctx {
    static void set_collector_of(shader_core_ctx& core, unsigned steps, unsigned dispatched) {
        set_collector(core.*(&InsideCore::m_operand_collector), steps, dispatched);
    }
};

inline void reset_dram_arbiter(memory_partition_unit& partition, int last_borrower);
template <typename Arbiter, Arbiter arbiter, typename Last, Last last>
struct ReachDramArbiter {
    friend void reset_dram_arbiter(memory_partition_unit& partition, int borrower) { reset(partition, borrower); }
    static void reset(memory_partition_unit& partition, int last_borrower) { (partition.*arbiter).*last = last_borrower; }
};
template struct ReachDramArbiter<decltype(&memory_partition_unit::m_arbitration_metadata),
                                 &memory_partition_unit::m_arbitration_metadata,
                                 decltype(&memory_partition_unit::arbitration_metadata::m_last_borrower),
                                 &memory_partition_unit::arbitration_metadata::m_last_borrower>;

inline bool holds_delayed(memory_partition_unit& partition);
inline bool holds_delayed(memory_sub_partition& slice);
template <typename Owner, typename Queue, Queue queue>
struct ReachDelays {
    friend bool holds_delayed(Owner& owner) { return !(owner.*queue).empty(); }
};
template struct ReachDelays<memory_partition_unit, decltype(&memory_partition_unit::m_dram_latency_queue),
                            &memory_partition_unit::m_dram_latency_queue>;
template struct ReachDelays<memory_sub_partition, decltype(&memory_sub_partition::m_rop), &memory_sub_partition::m_rop>;

// Adds idle ticks to the DRAM counters, whose width differs among trees.
inline void count_idle(dram_t& dram, unsigned long long ticks);
template <typename Commands, Commands commands, typename Nops, Nops nops, typename Idle, Idle idle, typename PartCommands,
          PartCommands part_commands, typename PartNops, PartNops part_nops>
struct ReachDramCounters {
    friend void count_idle(dram_t& dram, unsigned long long ticks) { count(dram, ticks); }
    template <typename Ticks>
    static void count(dram_t& dram, Ticks ticks) {
        dram.*commands += ticks;
        dram.*nops += ticks;
        dram.*idle += ticks;
        dram.*part_commands += static_cast<unsigned>(ticks);
        dram.*part_nops += static_cast<unsigned>(ticks);
    }
};
template struct ReachDramCounters<decltype(&dram_t::n_cmd), &dram_t::n_cmd, decltype(&dram_t::n_nop), &dram_t::n_nop,
                                  decltype(&dram_t::idle_bw), &dram_t::idle_bw, decltype(&dram_t::n_cmd_partial),
                                  &dram_t::n_cmd_partial, decltype(&dram_t::n_nop_partial), &dram_t::n_nop_partial>;

}  // namespace kernelpoint
#endif
