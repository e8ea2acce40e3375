// Constants of the miniature simulator: one line of them.
#pragma once
#include "cache.h"

class readonly_cache_c {
public:
    explicit readonly_cache_c(const Counter* now) : m_cache(cache_c::of<bool>(1, 2, 64, now)) {}

    // True if the line was there; it is now.
    bool use(Addr address) {
        Addr line, evicted;
        if (m_cache->access_cache(address, &line, true, 0) != NULL) return true;
        m_cache->insert_cache(address, &line, &evicted, 0, true);
        return false;
    }

private:
    cache_c* m_cache;
};
