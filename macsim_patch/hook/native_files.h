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
        for (std::map<std::string, Total>::iterator each = m_totals.begin(); each != m_totals.end();) {
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
    struct Total {
        double estimate, half_width;
        bool of_sampling;
    };

    static const kp_estimate* find(const std::vector<kp_estimate>& estimates, const char* name) {
        for (size_t i = 0; i < estimates.size(); ++i)
            if ((estimates[i].flags & KP_ESTIMATE_RATIO) == 0 && std::string(estimates[i].name) == name)
                return &estimates[i];
        return NULL;
    }

    // Adds a total, or a difference of two totals, whose error is at most the sum of both errors.
    void add(const char* name, const kp_estimate* first, const kp_estimate* less, bool all) {
        if (first == NULL || !is_known(*first, all) || (less != NULL && !is_told(*less, all))) return;
        Total total = {first->estimate, first->half_width, (first->flags & KP_ESTIMATE_SAMPLING) != 0};
        if (less != NULL) {
            total.estimate = std::max(0.0, total.estimate - less->estimate);
            total.half_width += less->half_width;
            total.of_sampling = total.of_sampling || (less->flags & KP_ESTIMATE_SAMPLING) != 0;
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
        const std::string sample = std::to_string(summary.simulated) + " of " + std::to_string(summary.launches) +
                                   " launches were simulated. ";
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
