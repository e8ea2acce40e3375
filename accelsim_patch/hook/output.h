// Output of a sampled run at its end, under the names that Accel-Sim's own scripts read.
#ifndef KERNELPOINT_ACCELSIM_OUTPUT_H
#define KERNELPOINT_ACCELSIM_OUTPUT_H

#include <stdio.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "client.hpp"
#include "statistics_reader.h"

namespace kernelpoint {

// Running totals of the simulator, continued with estimates. They are never written back to the simulator.
struct Totals {
    double cycles;
    double instructions;
};

inline double ratio(double above, double below) {
    return below > 0 || below != below ? above / below : 0;
}

// Prints one line with a total as the simulator does; `nan` if no total may be stated, which its scripts can read.
inline void print_amount(const char* name, double value) {
    if (std::isfinite(value))
        printf("%s = %lld\n", name, std::llround(value));
    else
        printf("%s = nan\n", name);
}

inline void print_totals(const Totals& totals) {
    print_amount("gpu_tot_sim_cycle", totals.cycles);
    print_amount("gpu_tot_sim_insn", totals.instructions);
    printf("gpu_tot_ipc = %12.4f\n", ratio(totals.instructions, totals.cycles));
}

inline void print_uid(uint64_t uid) {
    printf("kernel_launch_uid = %llu\n", static_cast<unsigned long long>(uid));
}

// Totals of the launches of this process that count so far. The simulator's own running totals count more: launches
// whose results are no part of the sample, and requests let through between launches. Its script makes a row of the
// differences between totals up to the next `kernel_name`, so the true totals after a block make its row the launch's.
class RunningTotals {
public:
    // Notes that the simulator's own running totals now include launches that do not count.
    void differ() { m_differ = true; }

    // Adds a launch that counts, with its counters in the common order.
    void add(uint64_t launch, double cycles, double instructions, const std::vector<double>& counters) {
        m_differ = m_differ || launch != m_rows;
        ++m_rows;
        m_totals.cycles += cycles;
        m_totals.instructions += instructions;
        m_counters.resize(counters.size());
        for (size_t i = 0; i < counters.size(); ++i) m_counters[i] += counters[i];
    }

    // Prints the totals. `natives`: the simulator's names of the counters, in the order of `add`.
    void print(const std::vector<Amount>& natives) const {
        if (!m_differ) return;
        printf("kernelpoint: totals of the sampled launches so far\n");
        print_totals(m_totals);
        for (size_t i = 0; i < m_counters.size(); ++i)
            if (natives[i].native != NULL) print_amount(natives[i].native, m_counters[i]);
        print_uid(m_rows);
    }

    const std::vector<double>& counters() const { return m_counters; }
    uint64_t rows() const { return m_rows; }
    bool are_the_simulators_own() const { return !m_differ; }

private:
    uint64_t m_rows = 0;
    bool m_differ = false;
    Totals m_totals = {0, 0};
    std::vector<double> m_counters;
};

// Prints the block of a launch that this process did not simulate, number `row` of the output. `estimated` is false
// where a process that this one resumes simulated it, or a worker; of an estimated one no counter is known. The rows
// add up to the rounded totals. `counters`: running totals, nan where they are not known.
inline void print_launch(const std::string& name, uint64_t launch, bool estimated, const Totals& before, const Totals& so_far,
                         const std::vector<Amount>& counters, uint64_t row) {
    const long long cycles = std::llround(so_far.cycles) - std::llround(before.cycles);
    const long long instructions = std::llround(so_far.instructions) - std::llround(before.instructions);
    printf("kernel_name = %s\n", name.c_str());
    print_uid(launch + 1);
    printf("kernelpoint_estimated = %d\n", estimated);
    printf("gpu_sim_cycle = %lld\n", cycles);
    printf("gpu_sim_insn = %lld\n", instructions);
    printf("gpu_ipc = %12.4f\n", ratio(static_cast<double>(instructions), static_cast<double>(cycles)));
    print_totals(so_far);
    for (size_t i = 0; i < counters.size(); ++i)
        if (counters[i].native != NULL) print_amount(counters[i].native, counters[i].value);
    print_uid(row);
}

inline void print_number(const char* what, const char* suffix, double value) {
    printf("kernelpoint_%s%s = %.10g\n", what, suffix, value);
}

inline void print_estimate(const kp_estimate& e, bool all_simulated) {
    if (!is_told(e, all_simulated)) return;
    if (e.estimate < 0) {  // an amount of which too little is known
        printf("kernelpoint_%s = nan\nkernelpoint: nan, estimate below zero: %s\n", e.name, e.name);
        return;
    }
    print_number(e.name, "", e.estimate);
    if (is_limited(e)) print_number(e.name, "_at_most", e.at_most);
    if (is_limited(e) && !std::isfinite(e.half_width)) return;
    print_number(e.name, "_half_width", e.half_width);
    if (e.estimate != 0) print_number(e.name, "_relative_half_width", e.half_width / e.estimate);
}

inline void print_summary(const kp_summary& summary, const std::vector<kp_estimate>& estimates) {
    printf("kernelpoint_launches = %llu\n", static_cast<unsigned long long>(summary.launches));
    printf("kernelpoint_simulated = %llu\n", static_cast<unsigned long long>(summary.simulated));
    printf("kernelpoint_skipped = %llu\n", static_cast<unsigned long long>(summary.skipped));
    printf("kernelpoint_projected = %llu\n", static_cast<unsigned long long>(summary.projected));
    printf("kernelpoint_passes = %llu\n", static_cast<unsigned long long>(summary.passes));
    if (std::isfinite(summary.cycle_speedup)) printf("kernelpoint_cycle_speedup = %g\n", summary.cycle_speedup);
    if (summary.saved_seconds > 0) printf("kernelpoint_saved_seconds = %.4g\n", summary.saved_seconds);
    printf("kernelpoint_confidence = %g\n", summary.confidence);
    printf("kernelpoint_degraded = %d\n", (summary.flags & KP_SUMMARY_DEGRADED) != 0);
    printf("kernelpoint_bound_stated = %d\n", (summary.flags & KP_SUMMARY_NO_BOUND) == 0);
    for (size_t i = 0; i < estimates.size(); ++i) print_estimate(estimates[i], summary.simulated == summary.launches);
}

// Estimated total of a counter; nan if none is stated.
inline double estimate_of(const std::vector<kp_estimate>& estimates, const char* name) {
    const kp_estimate* e = find_estimate(estimates, name);
    return e != NULL && std::isfinite(e->estimate) ? e->estimate : NAN;
}

// Reason why a counter has no total under the simulator's own name; empty text if it has one.
inline std::string why_unknown(const std::vector<kp_estimate>& estimates, const char* name, bool all_simulated) {
    const kp_estimate* e = find_estimate(estimates, name);
    if (e == NULL) return "no estimate";
    if (is_known(*e, all_simulated)) return "";
    if (!std::isfinite(e->estimate)) return "no estimate";
    return is_seen(*e, all_simulated) ? "half-width above 25 %" : "not met by any simulated launch";
}

// Prints the totals of the simulator's own counters; `nan` and the reason if a total is too uncertain.
inline void print_counters(const std::vector<Amount>& counters, const std::vector<kp_estimate>& estimates, bool all_simulated) {
    std::map<std::string, std::string> unknown;  // the reason: the names
    for (size_t i = 0; i < counters.size(); ++i) {
        if (counters[i].native == NULL) continue;
        const std::string why = why_unknown(estimates, counters[i].name, all_simulated);
        if (!why.empty()) unknown[why] += std::string(" ") + counters[i].name;
        print_amount(counters[i].native, why.empty() ? estimate_of(estimates, counters[i].name) : NAN);
    }
    for (std::map<std::string, std::string>::const_iterator i = unknown.begin(); i != unknown.end(); ++i)
        printf("kernelpoint: nan, %s:%s\n", i->first.c_str(), i->second.c_str());
}

// Prints the lines that the simulator's scripts read beside totals. Without them they would take the values of the
// launch that was simulated last.
inline void print_no_totals(uint64_t launches, uint64_t seconds) {
    print_uid(launches);
    printf("gpu_ipc = nan\ngpu_occupancy = nan%%\nL2_BW = nan GB/Sec\n");
    printf("gpgpu_simulation_rate = nan (inst/sec)\ngpgpu_simulation_rate = nan (cycle/sec)\n");
    printf("gpgpu_silicon_slowdown = nanx\n");
    printf("kernelpoint: nan, of a single launch: gpu_ipc gpu_occupancy L2_BW\n");
    printf("kernelpoint: nan, speed of a full run: gpgpu_simulation_rate gpgpu_silicon_slowdown\n");
    printf("kernelpoint: a statistic that is not listed here has no total; lines of it above count simulated launches\n");
    const unsigned s = static_cast<unsigned>(seconds);
    printf("gpgpu_simulation_time = %u days, %u hrs, %u min, %u sec (%u sec)\n", s / 86400, s / 3600 % 24, s / 60 % 60, s % 60,
           s);
}

}  // namespace kernelpoint
#endif
