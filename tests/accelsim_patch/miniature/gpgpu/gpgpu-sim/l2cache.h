// The L2 cache of the miniature simulator.
#pragma once
#include "gpgpu-sim/gpu-cache.h"

struct memory_sub_partition {
    cache_stats l2;
    void get_L2cache_sub_stats(cache_sub_stats& sum) const {
        sum.accesses = l2.hits + l2.misses;
        sum.misses = l2.misses;
    }
    void accumulate_L2cache_stats(cache_stats& sum) const {
        sum.hits += l2.hits;
        sum.misses += l2.misses;
    }
};
