// The L2 cache and the DRAM channels behind it, of the miniature simulator.
#pragma once
#include <queue>

#include "gpgpu-sim/dram.h"
#include "gpgpu-sim/gpu-cache.h"

class memory_sub_partition {
public:
    cache_stats l2;
    void get_L2cache_sub_stats(cache_sub_stats& sum) const {
        sum.accesses = l2.hits + l2.misses;
        sum.misses = l2.misses;
    }
    void accumulate_L2cache_stats(cache_stats& sum) const {
        sum.hits += l2.hits;
        sum.misses += l2.misses;
    }
    unsigned invalidateL2() {
        m_L2cache->invalidate();
        return 0;
    }
    bool access(new_addr_type address, unsigned long long cycle, bool write) {
        const bool hit = m_L2cache->access(address, m_memcpy_cycle_offset + cycle, write);
        ++(hit ? l2.hits : l2.misses);
        return hit;
    }
    void copy(new_addr_type address, unsigned long long cycle) {
        const mem_access_sector_mask_t mask = mem_access_sector_mask_t().set(address % 128 / 32);
        m_L2cache->force_tag_access(address, m_memcpy_cycle_offset++ + cycle, mask);
    }

    void cache_cycle() {
        m_L2cache->cycle();
        m_L2_dram_queue->pop();
    }
    void write_back() { m_L2_dram_queue->push(NULL); }
    bool busy() const { return false; }
    bool L2_dram_queue_empty() const { return m_L2_dram_queue->empty(); }
    void print() const { printf(" l2 %llu %u", m_L2cache->get_stats().port_cycles(), m_L2_dram_queue->get_length()); }

private:
    struct rop_delay_t {};
    typedef fifo_pipeline<mem_fetch> Queue;
    std::queue<rop_delay_t> m_rop;
    Queue *m_icnt_L2_queue = new Queue, *m_L2_dram_queue = new Queue;
    Queue *m_dram_L2_queue = new Queue, *m_L2_icnt_queue = new Queue;
    l2_cache* m_L2cache = new l2_cache(new tag_array(l2_cache_config()));
    unsigned m_memcpy_cycle_offset = 0;
};

class memory_partition_unit {
public:
    unsigned cost(const addrdec_t& place) { return m_dram->cost(place) + m_arbitration_metadata.next(); }
    void dram_cycle() { m_dram->cycle(); }
    void print() const { m_dram->print(); }

private:
    struct dram_delay_t {};
    std::list<dram_delay_t> m_dram_latency_queue;
    class arbitration_metadata {
    public:
        unsigned next() { return ++m_last_borrower % 2; }

    private:
        int m_last_borrower = 1;
    };
    arbitration_metadata m_arbitration_metadata;
    dram_t* m_dram = new dram_t;
};
