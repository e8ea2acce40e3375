// The constant latency of a launch (-gpgpu_kernel_launch_latency, -gpgpu_TB_launch_latency): counted, not simulated.
#ifndef KERNELPOINT_ACCELSIM_LAUNCH_LATENCY_H
#define KERNELPOINT_ACCELSIM_LAUNCH_LATENCY_H

#include <stdint.h>

#include <algorithm>
#include <string>

#include "idle_gpu.h"
#include "not_replayed.h"

namespace kernelpoint {

// The options, with their values, under which a tick of an idle GPU does more than IdleGpu knows; empty where there is
// none. AccelWattch is not among them: it looks at the GPU in the simulator's own ticks only, see LaunchLatency.
inline std::string needs_every_tick(const std::string& dump) {
    static const char* const known[][2] = {{"-network_mode", "2"},              // booksim moves its own state
                                           {"-icnt_verbose", "0"},              // a line for each tick
                                           {"-trace_enabled", "0"},             // the same
                                           {"-visualizer_enabled", "0"},        // logs of each cycle
                                           {"-gpgpu_flush_l2_cache", "0"},      // flushed in each idle tick
                                           {"-gpgpu_simple_dram_model", "0"}};  // another DRAM
    std::string found;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
        const std::string value = value_of(dump, known[i][0]);
        if (value != known[i][1] && value != "unset")
            found += (found.empty() ? "" : ", ") + (known[i][0] + (" " + value));
    }
    const std::string l2 = value_of(dump, "-gpgpu_cache:dl2");
    if (!is_l2_of_replay(l2)) found += (found.empty() ? "" : ", ") + ("-gpgpu_cache:dl2 " + l2);
    return found;
}

// Skips a launch's latency in stretches. The simulator's own ticks are those in which the GPU is not idle yet; those
// that a cycle's number gives something to do, and the ones right before them, so that everything derived anew in each
// tick is; and the last ones before the first CTA.
class LaunchLatency {
public:
    explicit LaunchLatency(gpgpu_sim* sim) : m_sim(sim), m_gpu(sim) {}

    // Called after each tick; `due` is the launch's cycle at which its progress is told next.
    void skip(kernel_info_t* kernel, uint64_t due) {
        const unsigned long long ticks = skippable(kernel->m_kernel_TB_latency, due);
        if (ticks == 0 || !m_gpu.is_idle()) return;
        m_gpu.advance(ticks);
        kernel->m_kernel_TB_latency -= static_cast<unsigned>(ticks);
    }

private:
    enum { kOwnTicks = 8, kDeadlockCheck = 50000 };  // each clock ticks at least once in so many of the core's

    // The most that may be skipped now, so that the next tick with something to do comes after kOwnTicks others.
    unsigned long long skippable(unsigned long long latency, uint64_t due) const {
        const gpgpu_sim_config& config = m_sim->get_config();
        const unsigned long long cycle = m_sim->gpu_sim_cycle, all = m_sim->gpu_tot_sim_cycle + cycle;
        const auto interval = static_cast<unsigned long long>(config.*reach(SampleInterval()));
        unsigned long long ticks = std::min(latency, until(cycle, kDeadlockCheck));
        ticks = std::min(ticks, until(cycle, interval));
        if (config.g_power_simulation_enabled) ticks = std::min(ticks, until(static_cast<unsigned>(all), interval));
        if (due != UINT64_MAX) ticks = std::min<unsigned long long>(ticks, due > cycle ? due - cycle : 0);
        const unsigned long long limit = config.*reach(CycleLimit());
        if (limit > 0) ticks = std::min(ticks, limit > all ? limit - all : 0);
        return ticks > kOwnTicks ? ticks - kOwnTicks : 0;
    }

    // Ticks to the next multiple of `interval`.
    static unsigned long long until(unsigned long long cycle, unsigned long long interval) {
        return interval - cycle % interval;
    }

    gpgpu_sim* m_sim;
    IdleGpu m_gpu;
};

}  // namespace kernelpoint
#endif
