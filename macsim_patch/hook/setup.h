// Start of a sampled run: the option, the applications, what identifies the simulated GPU, and what is refused.
#ifndef KERNELPOINT_MACSIM_SETUP_H
#define KERNELPOINT_MACSIM_SETUP_H

#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "all_knobs.h"
#include "client.hpp"
#include "knob.h"
#include "macsim.h"
#include "statistics_reader.h"
#include "totals.h"
#include "traces.h"

namespace kernelpoint {

inline std::string option_of(macsim_c* base) {
    const std::string value = *base->m_knobs->KNOB_KERNEL_SAMPLING;
    return value == "NULL" ? std::string() : value;
}

inline bool is_on(macsim_c* base) {
    static const bool on = !option_of(base).empty();
    return on;
}

// MacSim writes a file for every definition file, with zeros where nothing was sampled.
inline void remove_stats(macsim_c* base) {
    remove(stat_path(base).c_str());
    for (int i = 0; i < base->m_process_count; ++i) remove((stat_path(base) + "." + std::to_string(i)).c_str());
}

// Reason why the warps of a launch cannot all be open, or an empty string; MacSim keeps a file open for each resident
// warp.
inline std::string open_files_problem(macsim_c* base, uint64_t warps) {
    uint64_t resident = 0;
    for (int i = 0; i < int(*base->m_knobs->KNOB_NUM_SIM_CORES); ++i)
        if (is_gpu(base->m_core_pointers[i])) resident += base->m_core_pointers[i]->get_max_threads_per_core();
    const uint64_t needed = std::min(warps, resident) + 64;  // the rest: statistics, libraries, the journal
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return std::string();
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, needed);
    if (limit.rlim_cur >= needed && setrlimit(RLIMIT_NOFILE, &limit) == 0) return std::string();
    return "it keeps " + std::to_string(needed) + " files open, one for each resident warp; the system allows " +
           std::to_string(limit.rlim_max) + " (ulimit -Hn), MacSim as it is set up up to " + std::to_string(resident) +
           " warps (max_threads_per_core)";
}

class Setup {
public:
    explicit Setup(macsim_c* base) : m_base(base), m_config(option_of(base)) {
        const std::string traces = *base->m_knobs->KNOB_TRACE_NAME_FILE;
        const std::vector<std::string> paths = read_applications(traces);
        for (size_t i = 0; i < paths.size(); ++i) m_lists.push_back(read_list(paths[i]));
    }

    const std::string& config() const { return m_config; }
    const std::vector<TraceList>& lists() const { return m_lists; }

    // Refuses what cannot be sampled, before the first cycle.
    void check() const {
        size_t on_gpu = 0;
        for (size_t i = 0; i < m_lists.size(); ++i) {
            on_gpu += m_lists[i].on_gpu();
            if (m_lists[i].on_gpu() && m_lists[i].launches == 0) stop_run(m_lists[i].path + ": names no kernel");
            if (!m_lists[i].problem.empty()) stop_run(m_lists[i].path + ": " + m_lists[i].problem);
        }
        if (on_gpu == 0) stop_run("kernel_sampling: the list of traces names no GPU application; allowed: nvbit, ptx");
        if (*m_base->m_knobs->KNOB_REPEAT_TRACE)
            stop_run("repeat_trace: got 1; allowed with kernel_sampling: 0. A launch is counted once");
        if (on_gpu > 1 && int(*m_base->m_knobs->KNOB_MAX_NUM_CORE_PER_APPL) == 0)
            stop_run(
                "max_num_core_per_appl: got 0 with several GPU applications; allowed with kernel_sampling: their share "
                "of the cores. The first application takes all cores otherwise, and the others never run");
    }

    // All knobs but those that name files or only print, `name value` each.
    std::string configuration() const {
        std::stringstream all;
        all << *m_base->m_knobsContainer;
        std::string kept;
        for (std::string line; std::getline(all, line);) {
            const std::string name = line.substr(0, line.find(' '));
            if (name == "kernel_sampling" || name == "trace_name_file" || name == "out" || name == "stdout" ||
                name == "stderr" || name.compare(0, 6, "debug_") == 0)
                continue;
            kept += with_number(line) + "\n";
        }
        return kept;
    }

private:
    // MacSim prints knobs of one byte as characters: shared_mem_cycles 2 as that of code 2.
    static std::string with_number(const std::string& line) {
        const unsigned char last = line.empty() ? ' ' : static_cast<unsigned char>(line[line.size() - 1]);
        return last >= ' ' ? line : line.substr(0, line.size() - 1) + std::to_string(last);
    }

    macsim_c* m_base;
    std::string m_config;
    std::vector<TraceList> m_lists;
};

}  // namespace kernelpoint
#endif
