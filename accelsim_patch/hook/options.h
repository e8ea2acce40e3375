// The options of a run, as the simulator prints them, and those under which replay or skipped latency does not hold.
#ifndef KERNELPOINT_ACCELSIM_OPTIONS_H
#define KERNELPOINT_ACCELSIM_OPTIONS_H

#include <sstream>
#include <string>
#include <vector>

namespace kernelpoint {

// Value of an option in the simulator's printed options, one on a line; "unset" if it is missing.
inline std::string value_of(const std::string& dump, const std::string& option) {
    std::istringstream lines(dump);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name, value;
        if (words >> name >> value && name == option) return value;
    }
    return "unset";
}

// True for a sectored L2 that writes back, allocates on a miss, and fetches missing sectors when they are read.
inline bool is_l2_of_replay(const std::string& cache) {
    return cache.compare(0, 2, "S:") == 0 && cache.find(",L:B:m:L:") != std::string::npos;
}

// An option and its value in a normal run, which needs no message.
struct Neutral {
    const char *option, *value;
};

// Lists the options with other values than these, `-network_mode 1, ...`; `-gpgpu_cache:dl2` too, where it is none of
// replay. An option that the tree does not have is left out if `may_lack`.
inline std::string others(const std::string& dump, const std::vector<Neutral>& neutral, bool may_lack) {
    std::string found;
    const auto add = [&found](const std::string& option, const std::string& value) {
        found += (found.empty() ? "" : ", ") + option + " " + value;
    };
    for (size_t i = 0; i < neutral.size(); ++i) {
        const std::string value = value_of(dump, neutral[i].option);
        if (value != neutral[i].value && !(may_lack && value == "unset")) add(neutral[i].option, value);
    }
    const std::string l2 = value_of(dump, "-gpgpu_cache:dl2");
    if (!is_l2_of_replay(l2)) add("-gpgpu_cache:dl2", l2);
    return found;
}

// Lists the options, for kp_kept.not_replayed, with which a full run keeps state that replay does not restore. Such a
// run states no bound on its total, since simulated launches begin elsewhere than those of a full run. Each of two L2
// partitions keeps lines of the other too.
inline std::string not_replayed(const std::string& dump) {
    std::vector<Neutral> covered = {{"-gpgpu_perfect_inst_const_cache", "1"},  // else code stays in caches
                                    {"-gpgpu_flush_l1_cache", "1"},
                                    {"-gpgpu_flush_l2_cache", "0"},
                                    {"-network_mode", "2"}};  // the built-in crossbar
    if (value_of(dump, "-gpgpu_n_chiplet_partition") != "unset") covered.push_back({"-gpgpu_n_chiplet_partition", "1"});
    return others(dump, covered, false);
}

// Lists the options with which a tick of an idle GPU does more than IdleGpu models. AccelWattch is not among them: it
// looks at the GPU in the simulator's own ticks only, see LaunchLatency.
inline std::string needs_every_tick(const std::string& dump) {
    return others(dump,
                  {{"-network_mode", "2"},              // booksim moves its own state
                   {"-icnt_verbose", "0"},              // a line for each tick
                   {"-trace_enabled", "0"},             // the same
                   {"-visualizer_enabled", "0"},        // logs of each cycle
                   {"-gpgpu_flush_l2_cache", "0"},      // flushed in each idle tick
                   {"-gpgpu_simple_dram_model", "0"}},  // another DRAM
                  true);
}

}  // namespace kernelpoint
#endif
