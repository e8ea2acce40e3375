// Start of a sampled run: the option, the applications, what identifies the simulated GPU, and what is refused.
#ifndef KERNELPOINT_MACSIM_SETUP_H
#define KERNELPOINT_MACSIM_SETUP_H

#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "all_knobs.h"
#include "client.hpp"
#include "knob.h"
#include "macsim.h"
#include "statistics_reader.h"
#include "traces.h"

namespace kernelpoint {

// KernelPoint's option as it stands on the command line, or an empty string. If one option has no value, MacSim
// ignores all of them with a single line.
inline std::string word_of_option() {
    const std::string name = "--kernel_sampling";
    std::ifstream words("/proc/self/cmdline");
    for (std::string word; std::getline(words, word, '\0');)
        if (word == name || word.compare(0, name.size() + 1, name + "=") == 0) return word;
    return std::string();
}

inline std::string option_of(macsim_c* base) {
    const std::string value = *base->m_knobs->KNOB_KERNEL_SAMPLING;
    return value == "NULL" ? std::string() : value;
}

// True if the option was given. If MacSim did not accept it, the run is refused later.
inline bool is_on(macsim_c* base) {
    static const bool on = !option_of(base).empty() || !word_of_option().empty();
    return on;
}

// Reason why the files of a launch's warps cannot all be open, or an empty string; MacSim keeps one open for each
// resident warp.
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
        const std::vector<std::string> paths = read_applications(*base->m_knobs->KNOB_TRACE_NAME_FILE);
        m_applications = paths.size();
        if (!paths.empty()) m_list = read_list(paths[0]);
    }

    const std::string& config() const { return m_config; }
    const TraceList& list() const { return m_list; }

    // Refuses a run that cannot be sampled, before the first cycle.
    void check() const {
        if (m_config.empty())
            stop_run(
                "kernel_sampling: got " + word_of_option() +
                ", which MacSim did not take; allowed: --kernel_sampling=FILE, a configuration, and a value for every "
                "other option");
        if (m_applications > 1)
            stop_run("trace_file_list: got " + std::to_string(m_applications) +
                     " applications; allowed with kernel_sampling: 1. Applications that run side by side change each "
                     "other's cycles, so a sample of their launches tells no time");
        if (!m_list.on_gpu())
            stop_run("kernel_sampling: the list of traces names no GPU application; allowed: nvbit, ptx");
        if (m_list.launches == 0) stop_run(m_list.path + ": names no kernel");
        if (!m_list.problem.empty()) stop_run(m_list.path + ": " + m_list.problem);
        if (*m_base->m_knobs->KNOB_REPEAT_TRACE)
            stop_run("repeat_trace: got 1; allowed with kernel_sampling: 0. A launch is counted once");
    }

    // Text with all knobs that change results, `name value` each.
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
    // Prints a knob of one byte as a number. MacSim prints it as a character: shared_mem_cycles 2 as the character
    // with code 2.
    static std::string with_number(const std::string& line) {
        const unsigned char last = line.empty() ? ' ' : static_cast<unsigned char>(line[line.size() - 1]);
        return last >= ' ' ? line : line.substr(0, line.size() - 1) + std::to_string(last);
    }

    macsim_c* m_base;
    std::string m_config;
    size_t m_applications;
    TraceList m_list;
};

}  // namespace kernelpoint
#endif
