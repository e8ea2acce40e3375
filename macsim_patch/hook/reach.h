// Members that MacSim keeps to itself and the replay needs. An explicit instantiation may name them, so that no line of
// MacSim is changed for it: object->*reach(Tag()).
#ifndef KERNELPOINT_MACSIM_REACH_H
#define KERNELPOINT_MACSIM_REACH_H

#include "bp.h"
#include "cache.h"
#include "core.h"
#include "memory.h"
#include "memreq_info.h"

namespace kernelpoint {

template <typename Tag, typename Tag::Member member>
struct Reach {
    friend typename Tag::Member reach(Tag) { return member; }
};

#define KERNELPOINT_REACH(Tag, Owner, Type, member) \
    struct Tag {                                    \
        typedef Type Owner::* Member;               \
        friend Member reach(Tag);                   \
    };                                              \
    template struct Reach<Tag, &Owner::member>;

KERNELPOINT_REACH(FirstLevel, memory_c, dcu_c**, m_l1_cache)
KERNELPOINT_REACH(SecondLevel, memory_c, dcu_c**, m_l2_cache)
KERNELPOINT_REACH(ThirdLevel, memory_c, dcu_c**, m_l3_cache)
KERNELPOINT_REACH(LastLevel, memory_c, dcu_c**, m_llc_cache)
KERNELPOINT_REACH(ThirdLevelCount, memory_c, int, m_num_l3)
KERNELPOINT_REACH(LastLevelCount, memory_c, int, m_num_llc)
KERNELPOINT_REACH(CacheOfUnit, dcu_c, cache_c*, m_cache)
KERNELPOINT_REACH(IsDisabled, dcu_c, bool, m_disable)
KERNELPOINT_REACH(Sets, cache_c, cache_set_c**, m_set)
KERNELPOINT_REACH(SetCount, cache_c, int, m_num_sets)
KERNELPOINT_REACH(WayCount, cache_c, int, m_assoc)
KERNELPOINT_REACH(InstructionCache, core_c, cache_c*, m_icache)
KERNELPOINT_REACH(BranchPredictor, core_c, bp_data_c*, m_bp_data)
#undef KERNELPOINT_REACH

struct Routing {  // fills a request's m_cache_id: which cache of each level an address goes to
    typedef void (memory_c::*Member)(mem_req_s*);
    friend Member reach(Routing);
};
template struct Reach<Routing, &memory_c::set_cache_id>;

}  // namespace kernelpoint
#endif
