// What a sampled run leaves behind: kernelpoint.stat.out, in the three columns of MacSim's own statistics.
#ifndef KERNELPOINT_MACSIM_TOTALS_H
#define KERNELPOINT_MACSIM_TOTALS_H

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "abi.h"
#include "json.h"
#include "macsim.h"
#include "statistics.h"

namespace kernelpoint {

// An application's launches that this process has simulated: launch index -> (cycles, instructions).
typedef std::map<uint64_t, std::pair<double, double> > Results;

// MacSim adds 32 bits at a time to its 64-bit statistics.
inline void add_to_stat(macsim_c* base, int id, double value) {
    uint64_t left = std::isfinite(value) && value > 0 ? static_cast<uint64_t>(llround(value)) : 0;
    for (const uint64_t most = 1u << 31; left > 0; left -= std::min(left, most))
        (*base->m_ProcessorStats)[id] += static_cast<unsigned int>(std::min(left, most));
}

class StatFile {
public:
    StatFile(const std::string& path, const char* mode) : m_path(path), m_file(fopen(path.c_str(), mode)) {}
    ~StatFile() {
        if (m_file != NULL) fclose(m_file);
    }

    bool is_open() const { return m_file != NULL; }
    const std::string& path() const { return m_path; }

    // Name, amount, and what MacSim prints in the third column: the amount again, or a ratio.
    void amount(const std::string& name, double value) {
        fprintf(m_file, "%-45s%20lld%30lld\n\n", label(name).c_str(), llround(value), llround(value));
    }
    void with_ratio(const std::string& name, double value, double ratio) {
        fprintf(m_file, "%-45s%20lld%30.6g\n\n", label(name).c_str(), llround(value), ratio);
    }

    // A total, its half-width where one is stated (rounded up; third column: relative), and what was simulated of it.
    void estimate(const std::string& name, double total, double half_width, double simulated, bool with_total) {
        if (with_total && std::isfinite(total)) amount(name, total);
        if (std::isfinite(total) && std::isfinite(half_width))
            with_ratio(name + "_HALF_WIDTH", ceil(half_width), total != 0 ? half_width / total : 0);
        if (std::isfinite(simulated)) amount(name + "_SIMULATED", simulated);
    }

    // A ratio of totals: no amount of its own, so it stands in both columns.
    void ratio(const std::string& name, double value, double half_width) {
        if (!std::isfinite(value)) return;
        fprintf(m_file, "%-45s%20.6g%30.6g\n\n", label(name).c_str(), value, value);
        if (std::isfinite(half_width))
            fprintf(m_file, "%-45s%20.6g%30.6g\n\n", label(name + "_HALF_WIDTH").c_str(), half_width,
                    value != 0 ? half_width / value : 0);
    }

private:
    static std::string label(std::string name) {
        for (size_t i = 0; i < name.size(); ++i) name[i] = static_cast<char>(toupper(name[i]));
        return "KERNELPOINT_" + name;
    }

    std::string m_path;
    FILE* m_file;
};

inline std::string stat_path(macsim_c* base) {
    const std::string folder = *base->m_knobs->KNOB_STATISTICS_OUT_DIRECTORY;
    return folder + "/kernelpoint.stat.out";
}

// The statistics that MacSim itself writes into kernelpoint.stat.out.
inline void set_stats(macsim_c* base, const kp_summary& summary) {
    add_to_stat(base, KERNELPOINT_LAUNCHES, static_cast<double>(summary.launches));
    add_to_stat(base, KERNELPOINT_SIMULATED, static_cast<double>(summary.simulated));
    add_to_stat(base, KERNELPOINT_SKIPPED, static_cast<double>(summary.skipped));
    add_to_stat(base, KERNELPOINT_PASSES, summary.passes);
    add_to_stat(base, KERNELPOINT_DEGRADED, (summary.flags & KP_SUMMARY_DEGRADED) != 0);
    add_to_stat(base, KERNELPOINT_BOUND_STATED, (summary.flags & KP_SUMMARY_NO_BOUND) == 0);
    for (uint32_t i = 0; i < summary.estimate_count; ++i) {
        const std::string name = summary.estimates[i].name;
        if (name == "cycles") add_to_stat(base, KERNELPOINT_CYCLES, summary.estimates[i].estimate);
        if (name == "instructions") add_to_stat(base, KERNELPOINT_INSTRUCTIONS, summary.estimates[i].estimate);
    }
}

// What has no statistic of its own: half-widths, the other counters, and ratios.
inline void write_estimates(StatFile& file, const kp_summary& summary) {
    file.with_ratio("confidence", 100 * summary.confidence, summary.confidence);
    for (uint32_t i = 0; i < summary.estimate_count; ++i) {
        const kp_estimate& e = summary.estimates[i];
        const std::string name = e.name;
        file.estimate(name, e.estimate, e.half_width, e.simulated, name != "cycles" && name != "instructions");
    }
    for (uint32_t i = 0; i < summary.ratio_count; ++i)
        file.ratio(summary.ratios[i].name, summary.ratios[i].estimate, summary.ratios[i].half_width);
}

// One application's part of the summary.
inline void write_application(StatFile& file, const std::string& prefix, const std::string& json, uint32_t process) {
    const std::vector<std::string> all = json_items(json_member(json, "processes"));
    for (size_t i = 0; i < all.size(); ++i) {
        if (json_number(json_member(all[i], "process")) != process) continue;
        const double launches = json_number(json_member(all[i], "launches"));
        const double simulated = json_number(json_member(all[i], "simulated"));
        file.amount(prefix + "launches", launches);
        file.amount(prefix + "simulated", simulated);
        file.amount(prefix + "skipped", launches - simulated);
        const std::vector<std::string> estimates = json_items(json_member(all[i], "estimates"));
        for (size_t j = 0; j + 1 < estimates.size(); j += 2)
            file.estimate(prefix + estimates[j], json_number(json_member(estimates[j + 1], "estimate")),
                          json_number(json_member(estimates[j + 1], "half_width")),
                          json_number(json_member(estimates[j + 1], "simulated")), true);
    }
}

}  // namespace kernelpoint
#endif
