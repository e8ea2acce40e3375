// Output of a sampled run: kernelpoint.stat.out, and MacSim's own statistics files, in which a statistic has the total
// of all launches with its half-width, or a marked name.
#ifndef KERNELPOINT_MACSIM_OUTPUT_H
#define KERNELPOINT_MACSIM_OUTPUT_H

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "client.hpp"
#include "macsim.h"
#include "members.h"
#include "statistics.h"
#include "statistics_reader.h"

namespace kernelpoint {

inline std::string whole(double value) {
    return std::to_string(llround(value));
}

inline std::string six_digits(double value) {
    char text[40];
    snprintf(text, sizeof(text), "%.6g", value);
    return text;
}

// A line in the three columns of MacSim's statistics: a name, an amount, and the amount again or a ratio.
inline std::string stat_line(const std::string& name, const std::string& amount, const std::string& third) {
    char text[200];
    snprintf(text, sizeof(text), "%-45s%20s%30s\n", name.c_str(), amount.c_str(), third.c_str());
    return text;
}

// The line of a half-width, rounded up; third column: relative. One of sampling error alone has that in its name. A
// ratio of totals is no amount of its own, so its half-width is not rounded.
inline std::string half_width_line(const std::string& name, const kp_estimate& e) {
    const std::string label = name + ((e.flags & KP_ESTIMATE_SAMPLING) != 0 ? "_SAMPLING_HALF_WIDTH" : "_HALF_WIDTH");
    const bool is_ratio = (e.flags & KP_ESTIMATE_RATIO) != 0;
    return stat_line(label, is_ratio ? six_digits(e.half_width) : whole(ceil(e.half_width)),
                     six_digits(e.estimate != 0 ? e.half_width / e.estimate : 0));
}

// Lines of kernelpoint.stat.out, each followed by an empty one.
class Totals {
public:
    void amount(const std::string& name, double value) { add(stat_line(label(name), whole(value), whole(value))); }
    void with_ratio(const std::string& name, double value, double ratio) {
        add(stat_line(label(name), whole(value), six_digits(ratio)));
    }

    // Adds a total if enough is known of it, its half-width if one is stated, and what was simulated of it.
    void estimate(const kp_estimate& e, bool with_total) {
        const bool is_ratio = (e.flags & KP_ESTIMATE_RATIO) != 0, is_stated = std::isfinite(e.estimate);
        const std::string value = is_ratio ? six_digits(e.estimate) : whole(e.estimate);
        if (with_total && is_stated) add(stat_line(label(e.name), value, value));
        if (is_stated && std::isfinite(e.half_width) && (with_total || !is_ratio)) add(half_width_line(label(e.name), e));
        if (!is_ratio && is_limited(e)) amount(std::string(e.name) + "_AT_MOST", std::ceil(e.at_most));
        if (!is_ratio && std::isfinite(e.simulated)) amount(std::string(e.name) + "_SIMULATED", e.simulated);
    }

    const std::string& text() const { return m_text; }

private:
    void add(const std::string& line) { m_text += line + "\n"; }

    static std::string label(std::string name) {
        for (size_t i = 0; i < name.size(); ++i) name[i] = static_cast<char>(toupper(name[i]));
        return "KERNELPOINT_" + name;
    }

    std::string m_text;
};

// Writes totals over all launches with their half-widths, and the numbers of simulated and skipped launches.
// Cycles and instructions have a total however wide its half-width is: it is the result of the run.
inline void write_totals(macsim_c* base, const kp_summary& summary, const std::vector<kp_estimate>& estimates) {
    const bool all = summary.simulated == summary.launches;
    std::string unknown;
    Totals totals;
    totals.amount("launches", static_cast<double>(summary.launches));
    totals.amount("simulated", static_cast<double>(summary.simulated));
    totals.amount("skipped", static_cast<double>(summary.skipped));
    totals.amount("passes", summary.passes);
    totals.amount("degraded", (summary.flags & KP_SUMMARY_DEGRADED) != 0);
    totals.amount("bound_stated", (summary.flags & KP_SUMMARY_NO_BOUND) == 0);
    totals.with_ratio("confidence", 100 * summary.confidence, summary.confidence);
    if (std::isfinite(summary.cycle_speedup)) totals.with_ratio("cycle_speedup", summary.cycle_speedup, summary.cycle_speedup);
    if (summary.saved_seconds > 0) totals.amount("saved_seconds", summary.saved_seconds);
    for (size_t i = 0; i < estimates.size(); ++i) {
        const std::string name = estimates[i].name;
        const bool has_total = is_known(estimates[i], all) || name == "cycles" || name == "instructions";
        totals.estimate(estimates[i], has_total);
        if (!has_total && (estimates[i].flags & KP_ESTIMATE_RATIO) == 0) unknown += " " + name;
    }
    const std::string folder = *base->m_knobs->KNOB_STATISTICS_OUT_DIRECTORY, path = folder + "/kernelpoint.stat.out";
    std::ofstream file(path.c_str());
    if (!(file << totals.text()).flush()) stop_run(path + ": cannot be written");
    if (!unknown.empty())
        printf("kernelpoint: half-width above 25 %%, or not met by any simulated launch, so without a total:%s\n",
               unknown.c_str());
}

// MacSim's own statistics files.
class NativeFiles {
public:
    // Called before MacSim writes its statistics: sets those with a known total to it.
    void set_totals(macsim_c* base, const kp_summary& summary, const std::vector<kp_estimate>& estimates,
                    bool clocks_are_equal) {
        const bool all = summary.simulated == summary.launches;
        add("INST_COUNT_TOT", find(estimates, "instructions"), NULL, all);
        if (clocks_are_equal) {
            add("CYC_COUNT_TOT", find(estimates, "cycles"), NULL, all);
            add("CYC_COUNT_ACC", find(estimates, "cycles"), NULL, all);
        }
        for (size_t i = 0; i < sizeof(kCounters) / sizeof(kCounters[0]); ++i) {
            const kp_estimate* counter = find(estimates, kCounters[i].name);
            if (kCounters[i].hits == NULL) {
                add(kCounters[i].misses, counter, NULL, all);
            } else if (const kp_estimate* misses = find(estimates, kCounters[i + 1].name)) {  // they follow
                add(kCounters[i].hits, counter, misses, all);
            }
        }
        for (std::map<std::string, kp_estimate>::iterator each = m_totals.begin(); each != m_totals.end();) {
            AbstractStat* stat = find_stat(base, each->first.c_str());
            if (stat == NULL) {
                m_totals.erase(each++);
                continue;
            }
            stat->*reach(Count()) = static_cast<unsigned long long>(llround(each->second.estimate));
            ++each;
        }
    }

    // Called after MacSim has written: adds half-widths beside totals, and marks every other name as the simulated
    // part.
    void mark(macsim_c* base, const kp_summary& summary) const {
        const std::string folder = *base->m_knobs->KNOB_STATISTICS_OUT_DIRECTORY;
        std::map<std::string, std::ofstream*>& files = base->m_AllStatsOutputStreams;
        for (std::map<std::string, std::ofstream*>::iterator file = files.begin(); file != files.end(); ++file) {
            if (file->first.find("kernelpoint") == 0) continue;
            const bool of_one = file->first.find(".stat.out.") != std::string::npos;
            rewrite(folder + "/" + file->first, summary, of_one);
        }
        const std::string dram = *base->m_knobs->KNOB_DRAM_SCHEDULING_POLICY;
        if (dram == "RAMULATOR") set_aside("ramulator", summary);
    }

private:
    static const kp_estimate* find(const std::vector<kp_estimate>& estimates, const char* name) {
        for (size_t i = 0; i < estimates.size(); ++i)
            if ((estimates[i].flags & KP_ESTIMATE_RATIO) == 0 && std::string(estimates[i].name) == name) return &estimates[i];
        return NULL;
    }

    // Adds a total, or a difference of two totals, whose error is at most the sum of both errors.
    void add(const char* name, const kp_estimate* first, const kp_estimate* less, bool all) {
        if (first == NULL || !is_known(*first, all) || (less != NULL && !is_told(*less, all))) return;
        kp_estimate total = *first;
        if (less != NULL) {
            total.estimate = std::max(0.0, total.estimate - less->estimate);
            total.half_width += less->half_width;
            total.flags |= less->flags & KP_ESTIMATE_SAMPLING;
        }
        if (std::isfinite(total.half_width) && total.half_width <= 0.25 * total.estimate) m_totals[name] = total;
    }

    void rewrite(const std::string& path, const kp_summary& summary, bool of_one) const {
        std::ifstream file(path.c_str());
        if (!file.good()) return;
        std::string text = first_line(summary, of_one);
        for (std::string line; std::getline(file, line);) text += rewritten(line, of_one);
        file.close();
        std::ofstream(path.c_str()) << text;
    }

    // Renames the file that Ramulator writes into the working folder until the process ends.
    static void set_aside(const std::string& writer, const kp_summary& summary) {
        const std::string path = writer + ".stat.out", aside = writer + ".simulated.stat.out";
        if (rename(path.c_str(), aside.c_str()) != 0) return;  // there is none
        std::ofstream(path.c_str()) << first_line(summary, true) << "# What this process simulated: " << aside << "\n";
    }

    static std::string first_line(const kp_summary& summary, bool of_one) {
        const std::string sample =
            std::to_string(summary.simulated) + " of " + std::to_string(summary.launches) + " launches were simulated. ";
        const std::string totals = "A name alone is the total of all launches, with its half-width in the next line. ";
        return "# kernelpoint: " + sample + (of_one ? "" : totals) +
               "Names with _SIMULATED count what this process simulated. All totals: kernelpoint.stat.out\n";
    }

    // Rewrites a line of MacSim with the estimate of its statistic. Seconds of this process stay as they are.
    std::string rewritten(const std::string& line, bool of_one) const {
        const size_t end = line.find_first_of(" \t");
        const std::string name = line.substr(0, end);
        const size_t amount = line.find_first_not_of(" \t", end == std::string::npos ? line.size() : end);
        const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
        const bool is_statistic = !name.empty() && name.find_first_not_of(letters) == std::string::npos &&
                                  amount != std::string::npos && isdigit(static_cast<unsigned char>(line[amount]));
        if (!is_statistic || name == "EXE_TIME") return line + "\n";
        const std::map<std::string, kp_estimate>::const_iterator total = m_totals.find(name);
        if (!of_one && total != m_totals.end()) return line + "\n" + half_width_line(name, total->second);
        const std::string mark = "_SIMULATED";
        const size_t room = line.find_first_not_of(' ', end) - end;
        return name + mark + line.substr(end + std::min(room - 1, mark.size())) + "\n";
    }

    std::map<std::string, kp_estimate> m_totals;
};

}  // namespace kernelpoint
#endif
