// Reads MacSim's own statistics, cumulative as they stand, and its GPU clock; nothing is ever written.
#ifndef KERNELPOINT_MACSIM_STATISTICS_READER_H
#define KERNELPOINT_MACSIM_STATISTICS_READER_H

#include <stdint.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core.h"
#include "macsim.h"
#include "statistics.h"

namespace kernelpoint {

// A counter of each launch: one of MacSim's global statistics, or the sum of hits and misses.
struct CounterName {
    const char* name;
    const char* hits;  // NULL: the counter is `misses`
    const char* misses;
};

const CounterName kCounters[] = {
    {"l1_accesses", "L1_HIT_GPU", "L1_MISS_GPU"},    {"l1_misses", NULL, "L1_MISS_GPU"},
    {"l2_accesses", "L2_HIT_GPU", "L2_MISS_GPU"},    {"l2_misses", NULL, "L2_MISS_GPU"},
    {"llc_accesses", "LLC_HIT_GPU", "LLC_MISS_GPU"}, {"llc_misses", NULL, "LLC_MISS_GPU"},
    {"memory_requests", NULL, "TOTAL_MEMORY"},       {"dram_requests", NULL, "TOTAL_DRAM"},
    {"shared_accesses", NULL, "SHARED_MEM_ACCESS"},  {"constant_accesses", NULL, "CONST_CACHE_ACCESS"},
    {"icache_misses", NULL, "ICACHE_MISS_TOTAL"}};

inline bool is_gpu(core_c* core) {
    const std::string type = core->get_core_type();
    return type == "ptx" || type == "nvbit";
}

// One of MacSim's global statistics; NULL if this tree has none of that name.
inline AbstractStat* find_stat(macsim_c* base, const char* name) {
    GlobalStatistics& all = *base->m_ProcessorStats->globalStats();
    for (int i = 0; i < all.size() && name != NULL; ++i)
        if (all[i].getName() == name) return &all[i];
    return NULL;
}

// Values of the counters at one time.
struct Amounts {
    uint64_t cycles;        // of the GPU
    uint64_t ticks;         // CYC_COUNT_TOT, which counts GPU cycles where all clocks are equal
    uint64_t instructions;  // of warps, retired
    std::vector<double> counters;
};

class StatisticsReader {
public:
    void attach(macsim_c* base) {
        m_base = base;
        for (size_t i = 0; i < sizeof(kCounters) / sizeof(kCounters[0]); ++i) {
            const Source source = {find_stat(base, kCounters[i].misses), find_stat(base, kCounters[i].hits)};
            if (source.misses == NULL || (kCounters[i].hits != NULL && source.hits == NULL)) continue;
            m_names.push_back(kCounters[i].name);
            m_sources.push_back(source);
        }
        m_names.push_back("mispredictions");
    }

    const std::vector<const char*>& names() const { return m_names; }

    // Reads the counters now. MacSim's CYCLE counts ticks of the least common multiple of all clocks. A core's own
    // count restarts with its first kernel. Inside a tick, only the core that retires is known to have counted it.
    Amounts read() const {
        Amounts now = {0, (*m_base->m_ProcessorStats)[CYC_COUNT_TOT].getCount(), 0, std::vector<double>()};
        double mispredictions = 0;
        for (int i = 0; i < int(*m_base->m_knobs->KNOB_NUM_SIM_CORES); ++i) {
            now.instructions += of_core(i, INST_COUNT);
            mispredictions += static_cast<double>(of_core(i, BP_ON_PATH_MISPREDICT));
            if (is_gpu(m_base->m_core_pointers[i])) now.cycles = std::max<uint64_t>(now.cycles, m_base->m_core_cycle[i]);
        }
        for (size_t i = 0; i < m_sources.size(); ++i)
            now.counters.push_back(count(m_sources[i].misses) + count(m_sources[i].hits));
        now.counters.push_back(mispredictions);
        return now;
    }

private:
    struct Source {
        AbstractStat* misses;
        AbstractStat* hits;
    };

    uint64_t of_core(int core, int statistic) const {
        return m_base->m_ProcessorStats->core(core)[statistic - PER_CORE_STATS_ENUM_FIRST].getCount();
    }

    static double count(AbstractStat* stat) { return stat == NULL ? 0 : static_cast<double>(stat->getCount()); }

    macsim_c* m_base = NULL;
    std::vector<const char*> m_names;
    std::vector<Source> m_sources;
};

}  // namespace kernelpoint
#endif
