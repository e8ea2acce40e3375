// Samples of power that AccelWattch has taken, or would take next, and that are in no launch's report.
//
// AccelWattch samples at the multiples of -gpgpu_runtime_stat of the run's cycles. What a launch does behind its last
// sample is in the first one of the launch simulated next, which in a sampled run is another one than in a full run.
#ifndef KERNELPOINT_ACCELSIM_POWER_SAMPLES_H
#define KERNELPOINT_ACCELSIM_POWER_SAMPLES_H

#include <vector>

#include "members.h"

#if defined(__has_include)
#if __has_include("accelwattch/gpgpu_sim_wrapper.h")
#define KERNELPOINT_ACCELWATTCH
#include "accelwattch/gpgpu_sim_wrapper.h"

// Absent from a simulator that was built without the power model.
__attribute__((weak)) void mcpat_cycle(const gpgpu_sim_config&, const shader_core_config*, gpgpu_sim_wrapper*,
                                       power_stat_t*, unsigned, unsigned, unsigned, unsigned, unsigned, bool);
__attribute__((weak)) void mcpat_reset_perf_count(gpgpu_sim_wrapper*);
#endif
#endif

namespace kernelpoint {

// Sums of samples, in watts: of the GPU, and of each part in AccelWattch's order.
struct PowerSums {
    double samples;
    std::vector<double> watts;
};

#ifdef KERNELPOINT_ACCELWATTCH
KERNELPOINT_REACH(PowerSum, gpgpu_sim_wrapper, double, kernel_tot_power)
KERNELPOINT_REACH(PartSums, gpgpu_sim_wrapper, std::vector<avg_max_min_counters<double> >, kernel_cmp_pwr)
KERNELPOINT_REACH(SampleCount, gpgpu_sim_wrapper, int, kernel_sample_count)
KERNELPOINT_REACH(RunPower, gpgpu_sim_wrapper, avg_max_min_counters<double>, gpu_tot_power)
KERNELPOINT_REACH(RunSampleCount, gpgpu_sim_wrapper, int, total_sample_count)

// The next sample is taken now: activity since the last one counts as always, cycles that are missing are idle ones.
// Gives the samples since the last report; false where AccelWattch does not sample. The run's mean power stays as it
// is.
inline bool take_power_samples(gpgpu_sim* sim, PowerSums* sums) {
    struct Power : public gpgpu_sim {
        static gpgpu_sim_wrapper* wrapper(gpgpu_sim* sim) { return sim->*(&Power::m_gpgpusim_wrapper); }
        static power_stat_t* statistics(gpgpu_sim* sim) { return sim->*(&Power::m_power_stats); }
    };
    const gpgpu_sim_config& config = sim->get_config();
    if (mcpat_cycle == NULL || config.g_power_simulation_mode != 0) return false;
    gpgpu_sim_wrapper& wrapper = *Power::wrapper(sim);
    const avg_max_min_counters<double> power = wrapper.*reach(RunPower());
    const int samples = wrapper.*reach(RunSampleCount());
    mcpat_cycle(config, sim->getShaderCoreConfig(), &wrapper, Power::statistics(sim), config.*reach(SampleInterval()),
                0, 0, 0, 0, config.g_dvfs_enabled);
    sums->samples = wrapper.*reach(SampleCount());
    sums->watts.assign(1, wrapper.*reach(PowerSum()));
    const std::vector<avg_max_min_counters<double> >& parts = wrapper.*reach(PartSums());
    for (size_t i = 0; i < parts.size(); ++i) sums->watts.push_back(parts[i].avg);
    mcpat_reset_perf_count(&wrapper);
    wrapper.*reach(RunPower()) = power;
    wrapper.*reach(RunSampleCount()) = samples;
    return true;
}
#else
inline bool take_power_samples(gpgpu_sim*, PowerSums*) {
    return false;
}
#endif

}  // namespace kernelpoint
#endif
