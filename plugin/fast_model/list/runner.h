// Launches one after another on one simulated GPU.
#pragma once

#include <functional>
#include <string>

#include "fast_model/gpu.h"
#include "fast_model/list/outcomes.h"

namespace kernelpoint::fast_model {

class Runner {
public:
    Runner(const GpuConfig& config, Outcomes& outcomes) : gpu_(config), outcomes_(outcomes) {}

    Gpu& gpu() { return gpu_; }
    // The outcome of the next launch: one that is known and fits, else the launch is simulated. Null if `goes_on`,
    // which is asked now and then, ended it. Throws TraceError, LaunchError: the launch is abandoned then.
    Outcomes::Shared run(uint32_t source, const std::string& path, const std::function<bool()>& goes_on);
    // Launches that were not known.
    uint64_t simulated() const { return simulated_; }

private:
    Outcomes::Shared simulate(const std::string& path, const std::function<bool()>& goes_on);

    Gpu gpu_;
    Outcomes& outcomes_;
    uint64_t simulated_ = 0;
};

}  // namespace kernelpoint::fast_model
