// Cache statistics of the miniature simulator.
#pragma once

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

struct cache_stats {
    unsigned long long hits = 0, misses = 0;
    void clear() { hits = misses = 0; }
    unsigned long long get_stats(mem_access_type* types, unsigned, cache_request_status* kinds, unsigned count) const {
        unsigned long long sum = 0;
        for (unsigned i = 0; i < count && types[0] == GLOBAL_ACC_R; ++i)
            sum += kinds[i] == HIT ? hits : kinds[i] == MISS ? misses : 0;
        return sum;
    }
};
