// Cache statistics of the miniature simulator.
#pragma once
#include <stdlib.h>

#include <algorithm>
#include <bitset>
#include <list>
#include <vector>

enum cache_request_status { HIT, HIT_RESERVED, MISS, SECTOR_MISS, MSHR_HIT };
enum mem_access_type { GLOBAL_ACC_R, GLOBAL_ACC_W };

struct cache_sub_stats {
    unsigned long long accesses = 0, misses = 0;
    cache_sub_stats& operator+=(const cache_sub_stats& other) {
        accesses += other.accesses;
        misses += other.misses;
        return *this;
    }
};

struct mem_fetch {};

struct cache_stats {
    unsigned long long hits = 0, misses = 0;
    void clear() { hits = misses = 0; }
    void sample_cache_port_utility() { ++m_cache_port_available_cycles; }
    unsigned long long port_cycles() const { return m_cache_port_available_cycles; }
    unsigned long long get_stats(mem_access_type* types, unsigned, cache_request_status* kinds, unsigned count) const {
        unsigned long long sum = 0;
        for (unsigned i = 0; i < count && types[0] == GLOBAL_ACC_R; ++i)
            sum += kinds[i] == HIT ? hits : kinds[i] == MISS ? misses : 0;
        return sum;
    }

private:
    unsigned long long m_cache_port_available_cycles = 0;
};

// Tags of 128-byte lines in sectors of 32 bytes.
typedef unsigned long long new_addr_type;
typedef std::bitset<4> mem_access_sector_mask_t;
typedef std::bitset<128> mem_access_byte_mask_t;
const unsigned SECTOR_CHUNCK_SIZE = 4;
enum cache_block_state { INVALID, RESERVED, VALID, MODIFIED };

struct cache_block_t {
    new_addr_type m_tag = 0;
    cache_block_state state[SECTOR_CHUNCK_SIZE] = {INVALID, INVALID, INVALID, INVALID};
    bool readable[SECTOR_CHUNCK_SIZE] = {true, true, true, true};
    unsigned long long used = 0;

    static unsigned only(const mem_access_sector_mask_t& mask) {
        for (unsigned i = 0; i < SECTOR_CHUNCK_SIZE; ++i)
            if (mask.to_ulong() == 1ul << i) return i;
        abort();  // one sector at a time
    }
    cache_block_state get_status(mem_access_sector_mask_t mask) const { return state[only(mask)]; }
    void set_status(cache_block_state next, mem_access_sector_mask_t mask) { state[only(mask)] = next; }
    bool is_readable(mem_access_sector_mask_t mask) const { return readable[only(mask)]; }
    void set_m_readable(bool is, mem_access_sector_mask_t mask) { readable[only(mask)] = is; }
    void set_last_access_time(unsigned long long time, mem_access_sector_mask_t) { used = time; }
    bool has(cache_block_state wanted) const { return std::count(state, state + SECTOR_CHUNCK_SIZE, wanted) > 0; }
    bool is_modified_line() const { return has(MODIFIED); }
    bool is_empty() const { return std::count(state, state + SECTOR_CHUNCK_SIZE, INVALID) == SECTOR_CHUNCK_SIZE; }
};

struct l2_cache_config {
    unsigned sets = 4, ways = 2;
    unsigned get_num_lines() const { return sets * ways; }
    unsigned get_nset() const { return sets; }
    unsigned set_index(new_addr_type address) const { return address / 256 % sets; }
    new_addr_type tag(new_addr_type address) const { return address / 128; }
};

class tag_array {
public:
    explicit tag_array(const l2_cache_config& config) : m_config(config), m_blocks(config.get_num_lines()) {}

    cache_block_t* get_block(unsigned index) { return &m_blocks[index]; }
    void inc_dirty() { ++m_dirty; }

    // The line of an address, allocated in place of the one used longest ago if it is not there.
    cache_block_t* place(new_addr_type address) {
        is_used = true;
        cache_block_t* first = &m_blocks[m_config.set_index(address) * m_config.ways];
        cache_block_t* oldest = first;
        for (cache_block_t* block = first; block < first + m_config.ways; ++block) {
            if (!block->is_empty() && block->m_tag == m_config.tag(address)) return block;
            if (block->is_empty() || (!oldest->is_empty() && block->used < oldest->used)) oldest = block;
        }
        m_dirty -= oldest->is_modified_line();
        *oldest = cache_block_t();
        oldest->m_tag = m_config.tag(address);
        return oldest;
    }

    void invalidate() {
        if (!is_used) return;
        for (auto& block : m_blocks) std::fill(block.state, block.state + SECTOR_CHUNCK_SIZE, INVALID);
        m_dirty = 0;
        is_used = false;
    }

protected:
    l2_cache_config m_config;
    std::vector<cache_block_t> m_blocks;
    unsigned m_dirty = 0;
    bool is_used = false;
};

class baseline_cache {
public:
    explicit baseline_cache(tag_array* tags) : m_tag_array(tags) {}
    void force_tag_access(new_addr_type address, unsigned time, mem_access_sector_mask_t mask) {
        cache_block_t* block = m_tag_array->place(address);
        block->set_status(VALID, mask);
        block->set_last_access_time(time, mask);
    }
    bool access_ready() const { return false; }
    bool data_port_free() const { return true; }
    bool fill_port_free() const { return true; }
    void cycle() { m_stats.sample_cache_port_utility(); }
    const cache_stats& get_stats() const { return m_stats; }

protected:
    tag_array* m_tag_array;
    std::list<mem_fetch*> m_miss_queue;
    cache_stats m_stats;
};

// Costs cycles until something is in it.
class read_only_cache {
public:
    unsigned turn() {
        const bool hit = m_filled;
        m_filled = true;
        return hit ? 0 : 7;
    }
    void invalidate() { m_filled = false; }

private:
    bool m_filled = false;
};

class l2_cache : public baseline_cache {
public:
    using baseline_cache::baseline_cache;
    // True if the sector could be used as it was.
    bool access(new_addr_type address, unsigned time, bool write) {
        const mem_access_sector_mask_t mask = mem_access_sector_mask_t().set(address % 128 / 32);
        cache_block_t* block = m_tag_array->place(address);
        const cache_block_state before = block->get_status(mask);
        const bool hit = before != INVALID && (write || block->is_readable(mask));
        block->set_m_readable(!write || (before != INVALID && block->is_readable(mask)), mask);  // stores are partial
        if (write && !block->is_modified_line()) m_tag_array->inc_dirty();
        block->set_status(write || before == MODIFIED ? MODIFIED : VALID, mask);
        block->set_last_access_time(time, mask);
        return hit;
    }
    void invalidate() { m_tag_array->invalidate(); }
};
