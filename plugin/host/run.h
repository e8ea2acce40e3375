// A run over the launches of a list: all of them, or those that the plugin asks for.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "fast_model/list/walk.h"
#include "host/results.h"
#include "host/sampling_hook.h"

namespace kernelpoint::host {

// Progress of a run on standard error: one line rewritten in place on a terminal, else a line every ten seconds of a
// full run.
class Progress {
public:
    explicit Progress(uint64_t launches);
    ~Progress();  // clears the line
    void begin_full_run();
    void show(uint64_t launch_index, uint64_t cycles);

private:
    using Time = std::chrono::steady_clock::time_point;

    std::string left(uint64_t launch_index, Time now) const;

    const uint64_t launches_;
    const bool terminal_;
    bool full_run_ = false;
    Time begun_, shown_at_;
};

class Run {
public:
    Run(const fast_model::GpuConfig& config, const Launches& list, Results& results);

    // Simulates every launch. Throws TraceError or Interrupted.
    void all();
    // Simulates the launches that the plugin asks for, pass by pass, and reports failed launches to it. Returns the
    // number of launches that failed for good. Throws PluginError or Interrupted.
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
