// Launches of a list on one simulated GPU, in whatever order they are asked for.
#pragma once

#include <functional>
#include <string>

#include "fast_model/gpu.h"
#include "native/trace/trace_list.h"

namespace kernelpoint::fast_model {

class Walk {
public:
    Walk(const GpuConfig& config, const Launches& list) : list_(list), gpu_(config) {}

    uint64_t launches() const { return list_.contents.size(); }
    const std::string& path(uint64_t launch) const { return list_.path(launch); }
    Gpu& gpu() { return gpu_; }

    // Lets the next launch begin with the present state of the GPU and the copies after the launch simulated last.
    void keep_state(uint64_t launch);
    // Simulates one launch, as Gpu::run does.
    const LaunchResult& simulate(uint64_t launch, Cycles interval, const std::function<void()>& at_interval);

private:
    const Launches& list_;
    size_t copied_ = 0;  // copies before the launch that was simulated last, and those that were done since
    Gpu gpu_;
};

}  // namespace kernelpoint::fast_model
