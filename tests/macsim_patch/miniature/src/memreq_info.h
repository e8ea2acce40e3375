// A request's way through the caches of the miniature simulator.
#pragma once

class macsim_c;

enum { MEM_L1 = 1, MEM_L2, MEM_L3, MEM_LLC, MEM_LAST };

struct mem_req_s {
    explicit mem_req_s(macsim_c*) {}
    int m_core_id = 0, m_cache_id[MEM_LAST] = {};
    unsigned long long m_addr = 0;
};
