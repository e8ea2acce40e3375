// A run over the launches of a list: all of them, or those that the plugin asks for.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "fast_model/list/walk.h"
#include "host/progress.h"
#include "host/results.h"
#include "host/sampling_hook.h"

namespace kernelpoint::host {

class Run {
public:
    Run(const fast_model::GpuConfig& config, const TraceList& list, Results& results);

    // Simulates every launch. Throws TraceError, Interrupted.
    void all();
    // Simulates what the plugin asks for, pass by pass; a launch that cannot be simulated is reported to it. Returns
    // how many launches failed and were not simulated later. Throws PluginError, Interrupted.
    uint64_t sampled(SamplingHook& hook);

private:
    void simulate(uint64_t launch_index, fast_model::Cycles interval, const std::function<void()>& at_interval);
    bool simulate_sampled(SamplingHook& hook);

    fast_model::Walk walk_;
    Results& results_;
    Progress progress_;
    std::set<std::string> named_;  // reasons why launches failed; each is told once
};

}  // namespace kernelpoint::host
