// The caches that GPU launches leave filled for those after them.
#ifndef KERNELPOINT_MACSIM_CACHES_H
#define KERNELPOINT_MACSIM_CACHES_H

#include <stdint.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "all_knobs.h"
#include "macsim.h"
#include "members.h"
#include "state.h"

namespace kernelpoint {

// Layout of kp_touch.opaque: core of an access (the CTA's number modulo kp_kept.sms), and its path to what all cores
// share.
enum Path {
    kPathData = 0,   // through the core's L1
    kPathFetch = 1,  // of instructions, through the core's instruction cache
    kPathAround = 2  // around both: code; or a store to generic or local memory, which some L1s take after all
};
inline uint32_t core_of(const kp_touch& touch) {
    return touch.opaque & 0xffff;
}
inline uint32_t path_of(const kp_touch& touch) {
    return touch.opaque >> 16;
}

// Caches of MacSim, filled with what earlier launches leave. Model: an address that misses is brought into every level
// on its way. A store makes its line dirty where it hits, and lines are brought in clean; where a dirty line goes that
// leaves its cache is left out, as MacSim itself drops what leaves an L1 without an L2 behind it. Constant, texture
// and shared memory, prefetchers and DRAM rows are left alone.
class Caches {
public:
    void attach(macsim_c* base) {
        m_base = base;
        m_request = new mem_req_s(base);
        m_writes_around = float(*base->m_knobs->KNOB_COMPUTE_CAPABILITY) == 2.0f;
    }

    // Empties the caches of these cores, and those that all cores share.
    void empty(const std::vector<int>& cores) {
        const std::vector<cache_c*> all = of(cores);
        for (size_t i = 0; i < all.size(); ++i) all[i]->invalidate_cache();
    }

    // Number of lines in all of these caches: after this number of distinct accesses their contents are determined.
    uint64_t lines(const std::vector<int>& cores) const {
        const std::vector<cache_c*> all = of(cores);
        uint64_t count = 0;
        for (size_t i = 0; i < all.size(); ++i) count += uint64_t(all[i]->*reach(SetCount())) * (all[i]->*reach(WayCount()));
        return count;
    }

    // Applies an access of an earlier launch on this core.
    void take(int core, const kp_touch& touch) {
        for (int sector = 0; sector < 4; ++sector) {
            if ((touch.touched >> sector & 1) == 0) continue;
            const uint64_t address = touch.line + uint64_t(sector) * KP_SECTOR_BYTES;
            if (path_of(touch) == kPathFetch) {
                fetch(core, address);
                continue;
            }
            const bool is_first = sector == 0 || (touch.touched >> (sector - 1) & 1) == 0;
            if (!is_first && is_same_line(core, address)) continue;
            if (path_of(touch) == kPathAround && touch.written == 0) {
                go_down(core, line_of(core, address), MEM_L2, false);
                continue;
            }
            if ((touch.written & touch.filled) != touch.touched) load(core, address);
            if (touch.written != 0) store(core, address, path_of(touch) == kPathAround);
        }
    }

private:
    // True if the sector before this one is in the same L1 line.
    bool is_same_line(int core, uint64_t address) const {
        memory_c* memory = m_base->m_memory;
        return memory->base_addr(core, address) == memory->base_addr(core, address - KP_SECTOR_BYTES);
    }

    void fetch(int core, uint64_t pc) {
        cache_c* cache = m_base->m_core_pointers[core]->*reach(InstructionCache());
        if (*m_base->m_knobs->KNOB_PERFECT_ICACHE) return;
        const uint64_t address = pc + cache->base_cache_line(0);  // where the application's addresses begin
        const bool hit = find(cache, address) != NULL;
        if (!hit) insert(cache, address);
        use_last(cache, address);
        if (!hit) go_down(core, address, MEM_L2, false);
    }
    void load(int core, uint64_t address) {
        if (*m_base->m_knobs->KNOB_PERFECT_DCACHE) return;
        go_down(core, line_of(core, address), MEM_L1, false);
    }
    // Applies a store. `may_pass`: generic and local stores, which bypass some L1s.
    void store(int core, uint64_t address, bool may_pass) {
        if (*m_base->m_knobs->KNOB_PERFECT_DCACHE) return;
        address = line_of(core, address);
        route(core, address);
        cache_c* cache = cache_of(unit(FirstLevel(), MEM_L1));
        const bool around = m_writes_around && may_pass && cache != NULL;
        if (around) cache->invalidate_cache_line(address);
        go_down(core, address, around ? MEM_L2 : MEM_L1, true);
    }

    // Address of the L1 line, which requests carry.
    uint64_t line_of(int core, uint64_t address) const { return m_base->m_memory->base_addr(core, address); }

    void go_down(int core, uint64_t address, int level, bool store) {
        route(core, address);
        dcu_c* units[] = {unit(FirstLevel(), MEM_L1), unit(SecondLevel(), MEM_L2), unit(ThirdLevel(), MEM_L3),
                          unit(LastLevel(), MEM_LLC)};
        for (; level <= MEM_LLC; ++level) {
            cache_c* cache = cache_of(units[level - MEM_L1]);
            if (cache != NULL && use(cache, core, address, store)) return;
        }
    }

    // Uses a line: true if it was there. Afterwards it is there, as the last used.
    bool use(cache_c* cache, int core, uint64_t address, bool store) {
        cache_entry_c* line = find(cache, address);
        const bool hit = line != NULL;
        if (!hit) {
            insert(cache, address);
            line = find(cache, address);
        }
        dcache_data_s* data = static_cast<dcache_data_s*>(line->m_data);
        data->m_dirty = hit && (data->m_dirty || store);
        if (!hit) {
            data->m_core_id = core;
            data->m_fetch_cycle = m_base->m_simulation_cycle;
            data->m_pc = 0;
            data->m_tid = 0;
        }
        use_last(cache, address);
        return hit;
    }

    static void insert(cache_c* cache, uint64_t address) {
        Addr line = 0, evicted = 0;
        cache->insert_cache(address, &line, &evicted, 0, true);
    }

    static cache_entry_c* find(cache_c* cache, uint64_t address) {
        Addr tag = 0;
        int set = 0;
        cache->find_tag_and_set(address, &tag, &set);
        cache_entry_c* lines = (cache->*reach(Sets()))[set]->m_entry;
        for (int way = 0; way < cache->*reach(WayCount()); ++way)
            if (lines[way].m_valid && lines[way].m_tag == tag) return &lines[way];
        return NULL;
    }

    // Marks a line as used last. MacSim replaces lines by the cycle of their last use, and this runs between two
    // cycles. Numerics: only the order within a set counts. A line used now follows the latest one; where that would
    // be later than now, the set's uses are numbered from 1 again. (In the simulation's first cycles they are ahead of
    // time, by fewer cycles than a set has ways.)
    void use_last(cache_c* cache, uint64_t address) {
        Addr tag = 0;
        int set = 0;
        cache->find_tag_and_set(address, &tag, &set);
        cache_entry_c* lines = (cache->*reach(Sets()))[set]->m_entry;
        const int ways = cache->*reach(WayCount());
        uint64_t latest = 0;
        for (int way = 0; way < ways; ++way)
            if (lines[way].m_valid && lines[way].m_tag != tag)
                latest = std::max<uint64_t>(latest, lines[way].m_last_access_time);
        if (latest >= std::max<uint64_t>(m_base->m_simulation_cycle, ways)) latest = renumber(lines, ways);
        find(cache, address)->m_last_access_time = latest + 1;
    }

    static uint64_t renumber(cache_entry_c* lines, int ways) {
        std::vector<std::pair<uint64_t, int> > order;
        for (int way = 0; way < ways; ++way) order.push_back(std::make_pair(lines[way].m_last_access_time, way));
        std::sort(order.begin(), order.end());
        for (int i = 0; i < ways; ++i)
            if (order[i].first > 0) lines[order[i].second].m_last_access_time = i + 1;  // 0: not used of late
        return ways;
    }

    void route(int core, uint64_t address) {
        m_request->m_core_id = core;
        m_request->m_addr = address;
        (m_base->m_memory->*reach(Routing()))(m_request);
    }

    // The unit of a cache level that a request goes to.
    template <typename Level>
    dcu_c* unit(Level level, int number) const {
        const bool exists = number != MEM_L3 || m_base->m_memory->*reach(ThirdLevelCount()) > 0;
        return exists ? (m_base->m_memory->*reach(level))[m_request->m_cache_id[number]] : NULL;
    }

    static cache_c* cache_of(dcu_c* unit) {
        cache_c* cache = unit == NULL ? NULL : unit->*reach(CacheOfUnit());
        return cache == NULL || unit->*reach(IsDisabled()) ? NULL : cache;
    }

    static void add(dcu_c* unit, std::vector<cache_c*>& all) {
        if (cache_of(unit) != NULL) all.push_back(cache_of(unit));
    }

    std::vector<cache_c*> of(const std::vector<int>& cores) const {
        std::vector<cache_c*> all;
        for (size_t i = 0; i < cores.size(); ++i) {
            all.push_back(m_base->m_core_pointers[cores[i]]->*reach(InstructionCache()));
            add((m_base->m_memory->*reach(FirstLevel()))[cores[i]], all);
            add((m_base->m_memory->*reach(SecondLevel()))[cores[i]], all);
        }
        for (int i = 0; i < m_base->m_memory->*reach(ThirdLevelCount()); ++i)
            add((m_base->m_memory->*reach(ThirdLevel()))[i], all);
        for (int i = 0; i < m_base->m_memory->*reach(LastLevelCount()); ++i)
            add((m_base->m_memory->*reach(LastLevel()))[i], all);
        return all;
    }

    macsim_c* m_base = NULL;
    mem_req_s* m_request = NULL;
    bool m_writes_around = false;  // generic and local stores do not come into an L1
};

}  // namespace kernelpoint
#endif
