// Output of a sampled run at its end, under the names that Accel-Sim's own scripts read.
#ifndef KERNELPOINT_ACCELSIM_OUTPUT_H
#define KERNELPOINT_ACCELSIM_OUTPUT_H

#include <stdio.h>

#include <cmath>
#include <string>
#include <vector>

#include "client.hpp"
#include "statistics_reader.h"

namespace kernelpoint {

// The simulator's running totals, continued with estimates. Never written back to the simulator.
struct Totals {
    double cycles;
    double instructions;
};

inline double ratio(double above, double below) {
    return below > 0 ? above / below : 0;
}

inline long long whole(double value) {
    return std::isfinite(value) ? std::llround(value) : 0;
}

inline void print_totals(const Totals& totals) {
    printf("gpu_tot_sim_cycle = %lld\n", whole(totals.cycles));
    printf("gpu_tot_sim_insn = %lld\n", whole(totals.instructions));
    printf("gpu_tot_ipc = %12.4f\n", ratio(totals.instructions, totals.cycles));
}

// The block of a launch that this process did not simulate; zeros where there is no estimate of it. `estimated` is
// false where a process that this one resumes simulated it. The block holds no line that is cumulative inside a
// component: the scripts would take the difference to the block before. The rows add up to the rounded totals.
inline void print_launch(const std::string& name, uint64_t launch, bool estimated, const Totals& before,
                         const Totals& so_far) {
    const long long cycles = whole(so_far.cycles) - whole(before.cycles);
    const long long instructions = whole(so_far.instructions) - whole(before.instructions);
    printf("kernel_name = %s\n", name.c_str());
    printf("kernel_launch_uid = %llu\n", static_cast<unsigned long long>(launch + 1));
    printf("kernelpoint_estimated = %d\n", estimated);
    printf("gpu_sim_cycle = %lld\n", cycles);
    printf("gpu_sim_insn = %lld\n", instructions);
    printf("gpu_ipc = %12.4f\n", ratio(static_cast<double>(instructions), static_cast<double>(cycles)));
    print_totals(so_far);
}

inline void print_number(const char* what, const char* suffix, double value) {
    printf("kernelpoint_%s%s = %.10g\n", what, suffix, value);
}

inline void print_estimate(const kp_estimate& e, bool all_simulated) {
    if (!is_told(e, all_simulated)) return;
    print_number(e.name, "", e.estimate);
    print_number(e.name, "_half_width", e.half_width);
    if (e.estimate != 0) print_number(e.name, "_relative_half_width", e.half_width / e.estimate);
}

inline void print_summary(const kp_summary& summary, const std::vector<kp_estimate>& estimates) {
    printf("kernelpoint_launches = %llu\n", static_cast<unsigned long long>(summary.launches));
    printf("kernelpoint_simulated = %llu\n", static_cast<unsigned long long>(summary.simulated));
    printf("kernelpoint_skipped = %llu\n", static_cast<unsigned long long>(summary.skipped));
    printf("kernelpoint_projected = %llu\n", static_cast<unsigned long long>(summary.projected));
    printf("kernelpoint_passes = %u\n", summary.passes);
    if (std::isfinite(summary.cycle_speedup)) printf("kernelpoint_cycle_speedup = %g\n", summary.cycle_speedup);
    if (summary.saved_seconds > 0) printf("kernelpoint_saved_seconds = %.4g\n", summary.saved_seconds);
    printf("kernelpoint_confidence = %g\n", summary.confidence);
    printf("kernelpoint_degraded = %d\n", (summary.flags & KP_SUMMARY_DEGRADED) != 0);
    printf("kernelpoint_bound_stated = %d\n", (summary.flags & KP_SUMMARY_NO_BOUND) == 0);
    for (size_t i = 0; i < estimates.size(); ++i) print_estimate(estimates[i], summary.simulated == summary.launches);
}

// The estimated total of a counter, or `otherwise` where none is stated.
inline double estimate_of(const std::vector<kp_estimate>& estimates, const std::string& name, double otherwise) {
    for (size_t i = 0; i < estimates.size(); ++i)
        if (name == estimates[i].name && std::isfinite(estimates[i].estimate)) return estimates[i].estimate;
    return otherwise;
}

// The totals of the simulator's own counters, and the names of those of which too little is known.
inline void print_counters(const std::vector<Amount>& counters, const std::vector<kp_estimate>& estimates,
                           bool all_simulated) {
    std::string unknown;
    for (size_t i = 0; i < counters.size(); ++i)
        for (size_t j = 0; j < estimates.size() && counters[i].native != NULL; ++j) {
            if (std::string(counters[i].name) != estimates[j].name) continue;
            if (is_known(estimates[j], all_simulated))
                printf("%s = %lld\n", counters[i].native, whole(estimates[j].estimate));
            else
                unknown += std::string(" ") + counters[i].name;
        }
    if (!unknown.empty())
        printf(
            "kernelpoint: half-width above 25 %%, or not met by any simulated launch, so not under their own "
            "names:%s\n",
            unknown.c_str());
}

}  // namespace kernelpoint
#endif
