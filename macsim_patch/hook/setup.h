// Start of a sampled run: the option, what identifies the simulated GPU, and what is refused.
#ifndef KERNELPOINT_MACSIM_SETUP_H
#define KERNELPOINT_MACSIM_SETUP_H

#include <stdint.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "all_knobs.h"
#include "client.hpp"
#include "file_names.hpp"
#include "knob.h"
#include "macsim.h"
#include "process_manager.h"
#include "statistics_reader.h"

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

// Raises the limit of open files to what a launch needs: MacSim keeps one open for each resident warp.
inline void require_open_files(macsim_c* base, const std::string& trace) {
    std::ifstream file(trace.c_str());
    std::string type, version, blocks;
    uint64_t warps = 0, resident = 0;
    file >> type >> version;
    if (type != "ptx") file >> blocks;
    file >> warps;
    for (int i = 0; i < int(*base->m_knobs->KNOB_NUM_SIM_CORES); ++i)
        if (is_gpu(base->m_core_pointers[i])) resident += base->m_core_pointers[i]->get_max_threads_per_core();
    const uint64_t needed = std::min(warps, resident) + 64;  // the rest: statistics, libraries, the journal
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, needed);
    if (limit.rlim_cur < needed || setrlimit(RLIMIT_NOFILE, &limit) != 0)
        stop_run(trace + " cannot be simulated: it keeps " + std::to_string(needed) +
                 " files open, one for each resident warp; the system allows " + std::to_string(limit.rlim_max) +
                 " (ulimit -Hn), MacSim as it is set up up to " + std::to_string(resident) + " warps (max_threads_per_core)");
}

// Last two parts of a path, "Kernel7/trace.txt" of ".../Kernel7/trace.txt".
inline std::string launch_name(const std::string& path) {
    const size_t last = path.rfind('/');
    const size_t before = last == std::string::npos || last == 0 ? last : path.rfind('/', last - 1);
    return before == std::string::npos ? path : path.substr(before + 1);
}

// Ends the run before the first cycle if it cannot be sampled.
inline void check_setup(macsim_c* base, const process_s& application) {
    if (option_of(base).empty())
        stop_run("kernel_sampling: got " + word_of_option() +
                 ", which MacSim did not take; allowed: --kernel_sampling=FILE, a configuration, and a value for every "
                 "other option");
    const std::string list = *base->m_knobs->KNOB_TRACE_NAME_FILE;
    size_t applications = 1;
    std::ifstream(list.c_str()) >> applications;
    if (applications > 1)
        stop_run("trace_file_list: got " + std::to_string(applications) +
                 " applications; allowed with kernel_sampling: 1. Applications that run side by side change each "
                 "other's cycles, so a sample of their launches tells no time");
    if (!application.m_acc) stop_run("kernel_sampling: the list of traces names no GPU application; allowed: nvbit, ptx");
    const std::vector<std::string>& launches = application.m_applications;
    if (launches.empty()) stop_run(application.m_kernel_config_name + ": names no kernel");
    for (size_t i = 0; i < launches.size(); ++i) {
        const std::string problem = name_problem(launch_name(launches[i]));
        if (!problem.empty()) stop_run(application.m_kernel_config_name + ": " + problem);
    }
    if (*base->m_knobs->KNOB_REPEAT_TRACE)
        stop_run("repeat_trace: got 1; allowed with kernel_sampling: 0. A launch is counted once");
}

// Path of the application's list if the plugin can read its traces, else an empty string.
inline std::string list_for_plugin(const process_s& application) {
    std::string type;
    std::ifstream(application.m_kernel_config_name.c_str()) >> type;
    return type == "nvbit" ? application.m_kernel_config_name : std::string();
}

// Prints a knob of one byte as a number. MacSim prints it as a character: shared_mem_cycles 2 as the character with
// code 2.
inline std::string with_number(const std::string& line) {
    const unsigned char last = line.empty() ? ' ' : static_cast<unsigned char>(line[line.size() - 1]);
    return last >= ' ' ? line : line.substr(0, line.size() - 1) + std::to_string(last);
}

// Text with all knobs that change results, `name value` each.
inline std::string configuration_of(macsim_c* base) {
    std::stringstream all;
    all << *base->m_knobsContainer;
    std::string kept;
    for (std::string line; std::getline(all, line);) {
        const std::string name = line.substr(0, line.find(' '));
        if (name == "kernel_sampling" || name == "trace_name_file" || name == "out" || name == "stdout" || name == "stderr" ||
            name.compare(0, 6, "debug_") == 0)
            continue;
        kept += with_number(line) + "\n";
    }
    return kept;
}

}  // namespace kernelpoint
#endif
