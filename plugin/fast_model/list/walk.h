// Launches of a list on one simulated GPU, in whatever order they are asked for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fast_model/gpu.h"
#include "native/trace/trace_list.h"

namespace kernelpoint::fast_model {

class Walk {
public:
    Walk(const GpuConfig& config, const TraceList& list);

    uint64_t launches() const { return launches_.size(); }
    const std::string& path(uint64_t launch) const { return list_.commands[launches_[launch]].path; }
    Gpu& gpu() { return gpu_; }

    // The next launch begins with what the GPU holds, and the copies behind the launch before it.
    void keep_state(uint64_t launch);
    // See Gpu::run.
    const LaunchResult& simulate(uint64_t launch, Cycles interval, const std::function<void()>& at_interval) {
        position_ = launches_[launch] + 1;
        return gpu_.run(path(launch), interval, at_interval);
    }

private:
    const TraceList& list_;
    std::vector<size_t> launches_;  // positions in list_.commands
    size_t position_ = 0;           // in list_.commands, behind the launch that was simulated last
    Gpu gpu_;
};

}  // namespace kernelpoint::fast_model
