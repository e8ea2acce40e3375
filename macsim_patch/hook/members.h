// Members that MacSim keeps to itself and the replay needs: object->*reach(Tag()).
#ifndef KERNELPOINT_MACSIM_MEMBERS_H
#define KERNELPOINT_MACSIM_MEMBERS_H

#include "bp.h"
#include "cache.h"
#include "core.h"
#include "dram_ctrl.h"
#include "frontend.h"
#include "memory.h"
#include "memreq_info.h"
#include "reach.hpp"
#include "readonly_cache.h"
#include "schedule_smc.h"
#include "statistics.h"

namespace kernelpoint {

KERNELPOINT_REACH(Count, AbstractStat, unsigned long long, m_count)
KERNELPOINT_REACH(FirstLevel, memory_c, dcu_c**, m_l1_cache)
KERNELPOINT_REACH(SecondLevel, memory_c, dcu_c**, m_l2_cache)
KERNELPOINT_REACH(ThirdLevel, memory_c, dcu_c**, m_l3_cache)
KERNELPOINT_REACH(LastLevel, memory_c, dcu_c**, m_llc_cache)
KERNELPOINT_REACH(ThirdLevelCount, memory_c, int, m_num_l3)
KERNELPOINT_REACH(LastLevelCount, memory_c, int, m_num_llc)
KERNELPOINT_REACH(MemoryCycle, memory_c, Counter, m_cycle)
KERNELPOINT_REACH(CacheOfUnit, dcu_c, cache_c*, m_cache)
KERNELPOINT_REACH(IsDisabled, dcu_c, bool, m_disable)
KERNELPOINT_REACH(Sets, cache_c, cache_set_c**, m_set)
KERNELPOINT_REACH(SetCount, cache_c, int, m_num_sets)
KERNELPOINT_REACH(WayCount, cache_c, int, m_assoc)
KERNELPOINT_REACH(InstructionCache, core_c, cache_c*, m_icache)
KERNELPOINT_REACH(BranchPredictor, core_c, bp_data_c*, m_bp_data)
KERNELPOINT_REACH(Scheduler, core_c, schedule_c*, m_schedule)
KERNELPOINT_REACH(FirstLiveWarp, core_c, int, m_last_terminated_tid)
KERNELPOINT_REACH(ConstantCache, readonly_cache_c, cache_c*, m_cache)
KERNELPOINT_REACH(FetchPhase, frontend_c, int, m_fetch_modulo)
KERNELPOINT_REACH(FetchTurn, frontend_c, int, m_fetch_arbiter)
KERNELPOINT_REACH(SchedulePhase, schedule_smc_c, int, m_schedule_modulo)
KERNELPOINT_REACH(FirstScheduler, schedule_smc_c, int, m_next_sched_id)
KERNELPOINT_REACH(OpenRows, dram_ctrl_c, uint64_t*, m_current_rid)
KERNELPOINT_REACH(BankCount, dram_ctrl_c, int, m_num_bank)

struct Routing {  // fills a request's m_cache_id: which cache of each level an address goes to
    typedef void (memory_c::*Member)(mem_req_s*);
    friend Member reach(Routing);
};
template struct Reach<Routing, &memory_c::set_cache_id>;

}  // namespace kernelpoint
#endif
