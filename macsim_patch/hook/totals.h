// Output of a sampled run: kernelpoint.stat.out, in the three columns of MacSim's own statistics.
#ifndef KERNELPOINT_MACSIM_TOTALS_H
#define KERNELPOINT_MACSIM_TOTALS_H

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client.hpp"
#include "macsim.h"
#include "statistics.h"

namespace kernelpoint {

class StatFile {
public:
    explicit StatFile(const std::string& path) : m_path(path), m_file(fopen(path.c_str(), "w")) {}
    ~StatFile() {
        if (m_file != NULL) fclose(m_file);
    }

    bool is_open() const { return m_file != NULL; }
    const std::string& path() const { return m_path; }

    // Writes a name, an amount, and MacSim's third column: the amount again, or a ratio.
    void amount(const std::string& name, double value) {
        fprintf(m_file, "%-45s%20lld%30lld\n\n", label(name).c_str(), llround(value), llround(value));
    }
    void with_ratio(const std::string& name, double value, double ratio) {
        fprintf(m_file, "%-45s%20lld%30.6g\n\n", label(name).c_str(), llround(value), ratio);
    }

    // Writes a total if enough is known of it, its half-width if one is stated (rounded up; third column: relative),
    // and what was simulated of it. A half-width of sampling error alone has that in its name. A ratio of totals is no
    // amount of its own, so it stands in both columns.
    void estimate(const kp_estimate& e, bool with_total) {
        const std::string name = e.name;
        const std::string width =
            name + ((e.flags & KP_ESTIMATE_SAMPLING) != 0 ? "_SAMPLING_HALF_WIDTH" : "_HALF_WIDTH");
        if ((e.flags & KP_ESTIMATE_RATIO) != 0) {
            if (with_total) ratio(name, e.estimate, width, e.half_width);
            return;
        }
        if (with_total && std::isfinite(e.estimate)) amount(name, e.estimate);
        if (std::isfinite(e.estimate) && std::isfinite(e.half_width))
            with_ratio(width, ceil(e.half_width), e.estimate != 0 ? e.half_width / e.estimate : 0);
        if (std::isfinite(e.simulated)) amount(name + "_SIMULATED", e.simulated);
    }

private:
    void ratio(const std::string& name, double value, const std::string& width, double half_width) {
        if (!std::isfinite(value)) return;
        fprintf(m_file, "%-45s%20.6g%30.6g\n\n", label(name).c_str(), value, value);
        if (std::isfinite(half_width))
            fprintf(m_file, "%-45s%20.6g%30.6g\n\n", label(width).c_str(), half_width,
                    value != 0 ? half_width / value : 0);
    }

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

// Writes totals over all launches with their half-widths, and what was simulated of them.
// Cycles and instructions have a total however wide its half-width is: it is the result of the run.
inline void write_totals(macsim_c* base, const kp_summary& summary, const std::vector<kp_estimate>& estimates) {
    StatFile file(stat_path(base));
    if (!file.is_open()) stop_run(file.path() + ": cannot be written");
    const bool all = summary.simulated == summary.launches;
    std::string unknown;
    file.amount("launches", static_cast<double>(summary.launches));
    file.amount("simulated", static_cast<double>(summary.simulated));
    file.amount("skipped", static_cast<double>(summary.skipped));
    file.amount("passes", summary.passes);
    file.amount("degraded", (summary.flags & KP_SUMMARY_DEGRADED) != 0);
    file.amount("bound_stated", (summary.flags & KP_SUMMARY_NO_BOUND) == 0);
    file.with_ratio("confidence", 100 * summary.confidence, summary.confidence);
    if (std::isfinite(summary.cycle_speedup))
        file.with_ratio("cycle_speedup", summary.cycle_speedup, summary.cycle_speedup);
    if (summary.saved_seconds > 0) file.amount("saved_seconds", summary.saved_seconds);
    for (size_t i = 0; i < estimates.size(); ++i) {
        const std::string name = estimates[i].name;
        const bool has_total = is_known(estimates[i], all) || name == "cycles" || name == "instructions";
        file.estimate(estimates[i], has_total);
        if (!has_total && (estimates[i].flags & KP_ESTIMATE_RATIO) == 0) unknown += " " + name;
    }
    if (!unknown.empty())
        printf("kernelpoint: half-width above 25 %%, or not met by any simulated launch, so without a total:%s\n",
               unknown.c_str());
}

}  // namespace kernelpoint
#endif
