// A run over the launches of a list: all of them, or those that the plugin asks for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fast_model/gpu.h"
#include "host/progress.h"
#include "host/results.h"
#include "host/sampling_hook.h"
#include "native/trace/trace_list.h"

namespace kernelpoint::host {

class Run {
public:
    Run(const fast_model::GpuConfig& config, const TraceList& list, Results& results);

    // Simulates every launch. Throws TraceError, LaunchError, Interrupted.
    void all();
    // Simulates what the plugin asks for, pass by pass; a launch that cannot be simulated is reported to it. Returns
    // how many launches failed and were not simulated later. Throws PluginError, Interrupted.
    uint64_t sampled(SamplingHook& hook);

private:
    void simulate(uint64_t launch_index, fast_model::Cycles interval, const std::function<void()>& at_interval);
    bool simulate_sampled(SamplingHook& hook);
    void keep_state(uint64_t launch_index);
    void replay_state(const kp_replay& replay);

    const TraceList& list_;
    std::vector<size_t> launches_;  // positions in list_.commands
    size_t position_ = 0;           // in list_.commands, behind the launch that was simulated last
    fast_model::Gpu gpu_;
    Results& results_;
    Progress progress_;
};

}  // namespace kernelpoint::host
