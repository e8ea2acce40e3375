// Data caches of the miniature simulator: a first level for each core, two units of a last one for all.
#pragma once
#include "cache.h"
#include "memreq_info.h"

struct dcache_data_s {
    bool m_dirty = false;
    Counter m_fetch_cycle = 0;
    int m_core_id = 0, m_tid = 0;
    Addr m_pc = 0;
};

class dcu_c {
public:
    explicit dcu_c(cache_c* its_cache) : m_disable(its_cache == NULL), m_cache(its_cache) {}

    // True if the line was there; it is now. A store makes it dirty where it was there.
    bool access(Addr address, bool store) {
        Addr line, evicted;
        if (m_disable) return false;
        dcache_data_s* data = static_cast<dcache_data_s*>(m_cache->access_cache(address, &line, true, 0));
        const bool hit = data != NULL;
        if (!hit) data = static_cast<dcache_data_s*>(m_cache->insert_cache(address, &line, &evicted, 0, true));
        data->m_dirty = hit && (data->m_dirty || store);
        return hit;
    }
    void drop(Addr address) { m_cache->invalidate_cache_line(address); }
    bool holds(Addr address) {
        Addr line;
        return m_cache->access_cache(address, &line, false, 0) != NULL;
    }

private:
    bool m_disable;
    cache_c* m_cache;
};

class memory_c {
public:
    memory_c(int cores, const Counter* now) {
        m_l1_cache = new dcu_c*[cores];
        m_l2_cache = new dcu_c*[cores];
        for (int core = 0; core < cores; ++core) {
            m_l1_cache[core] = new dcu_c(cache_c::of<dcache_data_s>(4, 4, kLine, now));
            m_l2_cache[core] = new dcu_c(NULL);
        }
        for (int unit = 0; unit < m_num_llc; ++unit)
            m_llc_cache[unit] = new dcu_c(cache_c::of<dcache_data_s>(16, 4, kLine, now));
    }
    virtual ~memory_c() {}

    void run_a_cycle() { ++m_cycle; }
    int turn() { return int(m_cycle % 2); }

    Addr base_addr(int, Addr address) { return address - address % kLine; }

    // Number of levels that miss, of two.
    int access(int core, Addr address, bool store) {
        address = base_addr(core, address);
        if (m_l1_cache[core]->access(address, store)) return 0;
        return below(address, store) ? 1 : 2;
    }
    // The same of a store that brings no line into the first level; a generic one takes the line from there.
    int store_around(int core, Addr address, bool generic) {
        address = base_addr(core, address);
        if (!generic && m_l1_cache[core]->holds(address)) return access(core, address, true);
        m_l1_cache[core]->drop(address);
        return below(address, true) ? 1 : 2;
    }
    // Instructions that a core does not hold come from the last level. Whether the line was there.
    bool below(Addr address, bool store) { return m_llc_cache[address / kLine % m_num_llc]->access(address, store); }

protected:
    virtual void set_cache_id(mem_req_s* request) {
        request->m_cache_id[MEM_L1] = request->m_cache_id[MEM_L2] = request->m_core_id;
        request->m_cache_id[MEM_LLC] = int(request->m_addr / kLine % m_num_llc);
    }

    dcu_c **m_l1_cache, **m_l2_cache, **m_l3_cache = NULL;
    dcu_c** m_llc_cache = new dcu_c*[2];
    int m_num_l3 = 0, m_num_llc = 2;
    Counter m_cycle = 0;

private:
    static constexpr int kLine = 128;
};
