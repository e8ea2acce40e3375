// MacSim's own statistics files after a sampled run: a total of all launches with its half-width, or a marked name.
#ifndef KERNELPOINT_MACSIM_NATIVE_FILES_H
#define KERNELPOINT_MACSIM_NATIVE_FILES_H

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
#include "totals.h"

namespace kernelpoint {

// One of MacSim's statistics as a sum or a difference of our counters. `base`: the statistic that MacSim divides by in
// the third column, or NULL.
struct NativeName {
    const char* name;
    const char* counter;
    const char* less;
    const char* base;
};

const NativeName kNatives[] = {{"INST_COUNT_TOT", "instructions", NULL, NULL},
                               {"CYC_COUNT_TOT", "cycles", NULL, NULL},
                               {"CYC_COUNT_ACC", "cycles", NULL, NULL},
                               {"L1_HIT_GPU", "l1_accesses", "l1_misses", NULL},
                               {"L1_MISS_GPU", "l1_misses", NULL, NULL},
                               {"L2_HIT_GPU", "l2_accesses", "l2_misses", NULL},
                               {"L2_MISS_GPU", "l2_misses", NULL, NULL},
                               {"LLC_HIT_GPU", "llc_accesses", "llc_misses", NULL},
                               {"LLC_MISS_GPU", "llc_misses", NULL, NULL},
                               {"TOTAL_MEMORY", "memory_requests", NULL, NULL},
                               {"TOTAL_DRAM", "dram_requests", NULL, NULL},
                               {"DRAM_ACTIVATE", "dram_activates", NULL, NULL},
                               {"SHARED_MEM_ACCESS", "shared_accesses", NULL, NULL}};

class NativeFiles {
public:
    // Before MacSim writes: statistics whose totals are known are set to them, so that ratios are made of totals.
    void set_totals(macsim_c* base, const kp_summary& summary, const std::vector<kp_estimate>& estimates,
                    bool clocks_are_equal) {
        const bool all = summary.simulated == summary.launches;
        for (size_t i = 0; i < sizeof(kNatives) / sizeof(kNatives[0]); ++i) {
            if (kNatives[i].counter == std::string("cycles") && !clocks_are_equal) continue;
            add(kNatives[i], estimates, all);
        }
        for (size_t i = 0; i < sizeof(kFurther) / sizeof(kFurther[0]); ++i) {
            const std::string counter = lower(kFurther[i].name);
            const NativeName native = {kFurther[i].name, counter.c_str(), NULL, kFurther[i].base};
            add(native, estimates, all);
        }
        for (std::map<std::string, Total>::iterator each = m_totals.begin(); each != m_totals.end();) {
            AbstractStat* stat = find_stat(base, each->first.c_str());
            const bool has_base = each->second.base.empty() || m_totals.count(each->second.base) != 0;
            if (stat == NULL || !has_base) {
                m_totals.erase(each++);
                continue;
            }
            stat->*reach(Count()) = static_cast<unsigned long long>(llround(each->second.estimate));
            ++each;
        }
    }

    // After MacSim has written: half-widths beside totals; every other name is marked as the simulated part.
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
    struct Total {
        double estimate, half_width;
        bool of_sampling;
        std::string base;
    };

    static const kp_estimate* find(const std::vector<kp_estimate>& estimates, const char* name) {
        for (size_t i = 0; i < estimates.size(); ++i)
            if ((estimates[i].flags & KP_ESTIMATE_RATIO) == 0 && std::string(estimates[i].name) == name)
                return &estimates[i];
        return NULL;
    }

    // A difference is off by no more than both of its parts are.
    void add(const NativeName& native, const std::vector<kp_estimate>& estimates, bool all) {
        const kp_estimate* first = find(estimates, native.counter);
        const kp_estimate* less = native.less == NULL ? NULL : find(estimates, native.less);
        if (first == NULL || (native.less != NULL && less == NULL)) return;
        if (!is_known(*first, all) || (less != NULL && !is_told(*less, all))) return;
        Total total = {first->estimate, first->half_width, (first->flags & KP_ESTIMATE_SAMPLING) != 0,
                       native.base == NULL ? "" : native.base};
        if (less != NULL) {
            total.estimate = std::max(0.0, total.estimate - less->estimate);
            total.half_width += less->half_width;
            total.of_sampling = total.of_sampling || (less->flags & KP_ESTIMATE_SAMPLING) != 0;
        }
        if (std::isfinite(total.half_width) && total.half_width <= 0.25 * total.estimate) m_totals[native.name] = total;
    }

    void rewrite(const std::string& path, const kp_summary& summary, bool of_one) const {
        std::ifstream file(path.c_str());
        if (!file.good()) return;
        std::string text = first_line(summary, of_one);
        for (std::string line; std::getline(file, line);) text += rewritten(line, of_one);
        file.close();
        std::ofstream(path.c_str()) << text;
    }

    // Ramulator writes a file of its own into the working folder, until the process ends: it gets another name.
    static void set_aside(const std::string& writer, const kp_summary& summary) {
        const std::string path = writer + ".stat.out", aside = writer + ".simulated.stat.out";
        if (rename(path.c_str(), aside.c_str()) != 0) return;  // there is none
        std::ofstream(path.c_str()) << first_line(summary, true) << "# What this process simulated: " << aside << "\n";
    }

    static std::string first_line(const kp_summary& summary, bool of_one) {
        const std::string sample = std::to_string(summary.simulated) + " of " + std::to_string(summary.launches) +
                                   " launches were simulated. ";
        const std::string totals = "A name alone is the total of all launches, with its half-width in the next line. ";
        return "# kernelpoint: " + sample + (of_one ? "" : totals) +
               "Names with _SIMULATED count what this process simulated. All totals: kernelpoint.stat.out\n";
    }

    // MacSim's line with what is known of its statistic. Seconds of this process stay what they are.
    std::string rewritten(const std::string& line, bool of_one) const {
        const size_t end = line.find_first_of(" \t");
        const std::string name = line.substr(0, end);
        const size_t amount = line.find_first_not_of(" \t", end == std::string::npos ? line.size() : end);
        const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
        const bool is_statistic = !name.empty() && name.find_first_not_of(letters) == std::string::npos &&
                                  amount != std::string::npos && isdigit(static_cast<unsigned char>(line[amount]));
        if (!is_statistic || name == "EXE_TIME") return line + "\n";
        const std::map<std::string, Total>::const_iterator total = m_totals.find(name);
        if (!of_one && total != m_totals.end()) return line + "\n" + half_width_line(name, total->second);
        const std::string mark = "_SIMULATED";
        const size_t room = line.find_first_not_of(' ', end) - end;
        return name + mark + line.substr(end + std::min(room - 1, mark.size())) + "\n";
    }

    static std::string half_width_line(const std::string& name, const Total& total) {
        char text[200];
        const std::string label = name + (total.of_sampling ? "_SAMPLING_HALF_WIDTH" : "_HALF_WIDTH");
        const double relative = total.estimate > 0 ? total.half_width / total.estimate : 0;
        snprintf(text, sizeof(text), "%-45s%20lld%30.6g\n", label.c_str(),
                 static_cast<long long>(ceil(total.half_width)), relative);
        return text;
    }

    std::map<std::string, Total> m_totals;
};

}  // namespace kernelpoint
#endif
