// The options under which a full run keeps state that the replay does not put back: such a run states no bound on its
// total, since simulated launches begin elsewhere than those of a full run.
#ifndef KERNELPOINT_ACCELSIM_NOT_REPLAYED_H
#define KERNELPOINT_ACCELSIM_NOT_REPLAYED_H

#include <sstream>
#include <string>

namespace kernelpoint {

// The value of an option in the simulator's dump, one option a line; "unset" where it has no such option.
inline std::string value_of(const std::string& dump, const std::string& option) {
    std::istringstream lines(dump);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name, value;
        if (words >> name >> value && name == option) return value;
    }
    return "unset";
}

// True for a sectored L2 that writes back, allocates on a miss and fetches what it lacks when it is read.
inline bool is_l2_of_replay(const std::string& cache) {
    return cache.compare(0, 2, "S:") == 0 && cache.find(",L:B:m:L:") != std::string::npos;
}

// For kp_host_info.not_replayed, `-network_mode 1, ...`; empty where replay covers it all.
inline std::string not_replayed(const std::string& dump) {
    static const char* const covered[][2] = {{"-gpgpu_perfect_inst_const_cache", "1"},  // else code stays in caches
                                             {"-gpgpu_flush_l1_cache", "1"},
                                             {"-gpgpu_flush_l2_cache", "0"},
                                             {"-network_mode", "2"}};  // the built-in crossbar
    std::string found;
    const auto add = [&found](const std::string& option, const std::string& value) {
        found += (found.empty() ? "" : ", ") + option + " " + value;
    };
    for (size_t i = 0; i < sizeof(covered) / sizeof(covered[0]); ++i) {
        const std::string value = value_of(dump, covered[i][0]);
        if (value != covered[i][1]) add(covered[i][0], value);
    }
    // Each of two L2 partitions keeps lines of the other too.
    const std::string partitions = value_of(dump, "-gpgpu_n_chiplet_partition");
    if (partitions != "unset" && partitions != "1") add("-gpgpu_n_chiplet_partition", partitions);
    const std::string l2 = value_of(dump, "-gpgpu_cache:dl2");
    if (!is_l2_of_replay(l2)) add("-gpgpu_cache:dl2", l2);
    return found;
}

}  // namespace kernelpoint
#endif
