// Reads MacSim's own statistics, cumulative as they stand, and its GPU clock; nothing is ever written.
#ifndef KERNELPOINT_MACSIM_STATISTICS_READER_H
#define KERNELPOINT_MACSIM_STATISTICS_READER_H

#include <ctype.h>
#include <stdint.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "core.h"
#include "macsim.h"
#include "statistics.h"

namespace kernelpoint {

// One of our counters: the sum of up to two of MacSim's global statistics.
struct CounterName {
    const char* name;
    const char* native;
    const char* and_native;
};

const CounterName kCounters[] = {
    {"l1_accesses", "L1_HIT_GPU", "L1_MISS_GPU"},    {"l1_misses", "L1_MISS_GPU", NULL},
    {"l2_accesses", "L2_HIT_GPU", "L2_MISS_GPU"},    {"l2_misses", "L2_MISS_GPU", NULL},
    {"llc_accesses", "LLC_HIT_GPU", "LLC_MISS_GPU"}, {"llc_misses", "LLC_MISS_GPU", NULL},
    {"memory_requests", "TOTAL_MEMORY", NULL},       {"dram_requests", "TOTAL_DRAM", NULL},
    {"dram_activates", "DRAM_ACTIVATE", NULL},       {"shared_accesses", "SHARED_MEM_ACCESS", NULL}};

// Further statistics that launches on GPU cores count, each a counter of its own under its name in small letters.
// `base`: what MacSim divides by in the third column, or NULL.
struct FurtherName {
    const char* name;
    const char* base;
};

const FurtherName kFurther[] = {{"UOP_COUNT_TOT", NULL},
                                {"DISPATCHED_INST", NULL},
                                {"DISPATCH_WAIT", "DISPATCHED_INST"},
                                {"NUM_NO_FETCH_CYCLES", NULL},
                                {"AVG_MEMORY_LATENCY_BASE", NULL},
                                {"AVG_MEMORY_LATENCY", "AVG_MEMORY_LATENCY_BASE"},
                                {"TOTAL_MEMORY_MERGE", "TOTAL_MEMORY"},
                                {"TOTAL_DRAM_MERGE", "TOTAL_DRAM"},
                                {"L3_HIT_GPU", NULL},
                                {"L3_MISS_GPU", NULL},
                                {"CONST_CACHE_ACCESS", NULL},
                                {"CACHE_BANK_BUSY", NULL},
                                {"ICACHE_MISS_TOTAL", NULL},
                                {"TOTAL_WRITES", NULL},
                                {"DRAM_PRECHARGE", NULL},
                                {"DRAM_COLUMN", NULL},
                                {"DRAM_AVG_LATENCY_BASE", NULL},
                                {"DRAM_AVG_LATENCY", "DRAM_AVG_LATENCY_BASE"},
                                {"BANDWIDTH_TOT", NULL},
                                {"DRAM_CHANNEL0_DBUS_IDLE", NULL},
                                {"DRAM_CHANNEL1_DBUS_IDLE", NULL},
                                {"DRAM_CHANNEL2_DBUS_IDLE", NULL},
                                {"DRAM_CHANNEL3_DBUS_IDLE", NULL},
                                {"DRAM_CHANNEL4_DBUS_IDLE", NULL},
                                {"DRAM_CHANNEL5_DBUS_IDLE", NULL},
                                {"DRAM_CHANNEL6_DBUS_IDLE", NULL},
                                {"DRAM_CHANNEL7_DBUS_IDLE", NULL},
                                {"POWER_LLC_LINEFILL_BUF_R", NULL},
                                {"POWER_LLC_LINEFILL_BUF_W", NULL},
                                {"POWER_LLC_LINEFILL_BUF_R_TAG", NULL},
                                {"POWER_LLC_R", NULL},
                                {"POWER_LLC_W", NULL},
                                {"POWER_LLC_R_TAG", NULL},
                                {"POWER_MC_R", NULL},
                                {"POWER_MC_W", NULL}};

inline std::string lower(std::string name) {
    for (size_t i = 0; i < name.size(); ++i) name[i] = static_cast<char>(tolower(name[i]));
    return name;
}

inline bool is_gpu(core_c* core) {
    const std::string type = core->get_core_type();
    return type == "ptx" || type == "nvbit";
}

// One of MacSim's global statistics, or NULL where this tree has none of that name.
inline AbstractStat* find_stat(macsim_c* base, const char* name) {
    GlobalStatistics& all = *base->m_ProcessorStats->globalStats();
    for (int i = 0; i < all.size() && name != NULL; ++i)
        if (all[i].getName() == name) return &all[i];
    return NULL;
}

class StatisticsReader {
public:
    // With several applications on the GPU, reads only what one alone can be charged with.
    void attach(macsim_c* base, bool alone) {
        m_base = base;
        for (size_t i = 0; i < sizeof(kCounters) / sizeof(kCounters[0]) && alone; ++i) {
            const Source source = {find_stat(base, kCounters[i].native), find_stat(base, kCounters[i].and_native)};
            if (source.first == NULL || (kCounters[i].and_native != NULL && source.second == NULL)) continue;
            add(kCounters[i].name, source);
        }
        for (size_t i = 0; i < sizeof(kFurther) / sizeof(kFurther[0]) && alone; ++i) {
            const Source source = {find_stat(base, kFurther[i].name), NULL};
            if (source.first == NULL) continue;
            m_lower.push_back(lower(kFurther[i].name));
            add(m_lower.back().c_str(), source);
        }
    }

    const std::vector<const char*>& names() const { return m_names; }

    std::vector<double> read() const {
        std::vector<double> values;
        for (size_t i = 0; i < m_sources.size(); ++i)
            values.push_back(static_cast<double>(m_sources[i].first->getCount()) +
                             (m_sources[i].second != NULL ? static_cast<double>(m_sources[i].second->getCount()) : 0));
        return values;
    }

    // GPU cycles so far. MacSim's CYCLE counts ticks of the least common multiple of all clocks, and a core's own count
    // begins again when its first kernel is set up. Inside a tick some cores have counted it and some have not; the one
    // that retires has.
    uint64_t gpu_cycles() const {
        uint64_t cycles = 0;
        for (unsigned i = 0; i < cores(); ++i)
            if (is_gpu(m_base->m_core_pointers[i])) cycles = std::max<uint64_t>(cycles, m_base->m_core_cycle[i]);
        return cycles;
    }

    // True if CYC_COUNT_TOT counts GPU cycles so far, as it does where all clocks are equal; inside a tick one more or
    // less.
    bool has_equal_clocks() const {
        const uint64_t ticks = (*m_base->m_ProcessorStats)[CYC_COUNT_TOT].getCount(), cycles = gpu_cycles();
        return ticks <= cycles + 1 && cycles <= ticks + 1;
    }

    // Warp instructions that each core has retired.
    std::vector<uint64_t> instructions() const {
        std::vector<uint64_t> counts;
        for (unsigned i = 0; i < cores(); ++i)
            counts.push_back(m_base->m_ProcessorStats->core(i)[INST_COUNT - PER_CORE_STATS_ENUM_FIRST].getCount());
        return counts;
    }

    unsigned cores() const { return static_cast<unsigned>(int(*m_base->m_knobs->KNOB_NUM_SIM_CORES)); }

private:
    struct Source {
        AbstractStat* first;
        AbstractStat* second;
    };

    void add(const char* name, const Source& source) {
        m_names.push_back(name);
        m_sources.push_back(source);
    }

    macsim_c* m_base = NULL;
    std::deque<std::string> m_lower;
    std::vector<const char*> m_names;
    std::vector<Source> m_sources;
};

}  // namespace kernelpoint
#endif
