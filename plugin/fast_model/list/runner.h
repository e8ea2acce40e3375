// Launches and copies one after another on one simulated GPU.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "fast_model/gpu.h"
#include "fast_model/list/outcomes.h"
#include "fast_model/list/recurring_states.h"

namespace kernelpoint::fast_model {

class Runner {
public:
    // `memory_bytes`: for outcomes, and as much for states, that may come again.
    Runner(const GpuConfig& config, size_t sources, uint64_t memory_bytes)
        : gpu_(config), outcomes_(sources, memory_bytes), states_(memory_bytes) {}

    // The outcome of the next launch: one that is known and fits, else the launch is simulated. Null if `goes_on`,
    // which is asked now and then, ended it. Throws TraceError, LaunchError: the launch is abandoned then.
    Outcomes::Shared run(uint32_t source, const std::string& path, const std::function<bool()>& goes_on);
    void copy_from_host(uint64_t address, uint64_t bytes);
    // Launches that were not known.
    uint64_t simulated() const { return simulated_; }

private:
    uint64_t step_of_copy(uint64_t address, uint64_t bytes);
    Outcomes::Shared simulate(const std::string& path, const std::function<bool()>& goes_on);

    Gpu gpu_;
    Outcomes outcomes_;
    RecurringStates states_;
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> copies_;  // numbered
    uint64_t simulated_ = 0;
};

}  // namespace kernelpoint::fast_model
