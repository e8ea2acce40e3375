// The launches of a list on one simulated GPU, one after the other; what is done before each belongs to it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fast_model/config.h"
#include "fast_model/gpu.h"
#include "fast_model/launch_counters.h"
#include "native/trace/format.h"
#include "native/trace/launches.h"

namespace kernelpoint::fast_model {

// Callback that is called now and then while a list runs, with the number of finished launches and their approximate
// share of the work. An exception ends the run.
using Report = std::function<void(uint64_t, double)>;

// Settings of a run over a list. `memory_bytes` and `bytes` do not change the result.
struct Effort {
    uint64_t memory_bytes = 512 << 20;  // for outcomes of launches that may come again
    std::vector<uint64_t> bytes;        // of the text of each content, for reports; empty: not known
    std::vector<uint32_t> streams;      // of each content, see run_list; empty: every content has its own
};

struct ListResult {
    struct Numbers {
        uint64_t cycles = 0, instructions = 0;
        Counters counters;
    };
    std::vector<uint32_t> of_launch;  // which of `numbers`; kNoNumbers where it was not simulated
    std::vector<Numbers> numbers;
    std::vector<std::pair<uint64_t, std::string>> failures;  // launch index and reason
    uint64_t simulated = 0;                                  // launches that were not known from another
};
constexpr uint32_t kNoNumbers = UINT32_MAX;

// Simulates every launch in program order, with the caches that the launches before it left. A launch that cannot be
// simulated is a failure, and the run goes on; one that was not traced is left out.
// Launches of one content that find the same in L2 are simulated once, on a GPU that invalidates L1 at each launch.
//
// Model: contents of one stream run the same instructions at the same distances on other buffers. Where the launches of
// a stream have settled (see Settling), most take the numbers of the one that was simulated last. L2 then changes as
// the content has changed it before, and not at all where it has not been simulated.
ListResult run_list(const GpuConfig& config, const Launches& launches, const Effort& effort, const Report& report);

// Launches of a list on one simulated GPU, in whatever order they are asked for.
class Walk {
public:
    Walk(const GpuConfig& config, Launches list) : list_(std::move(list)), gpu_(config) {}

    uint64_t launches() const { return list_.contents.size(); }
    const std::string& path(uint64_t launch) const { return list_.path(launch); }
    Gpu& gpu() { return gpu_; }
    const Gpu& gpu() const { return gpu_; }

    // Lets the next launch begin with the present state of the GPU and the copies after the launch simulated last.
    void keep_state(uint64_t launch);
    // Simulates one launch, as Gpu::run does.
    const LaunchResult& simulate(uint64_t launch, Cycles interval, const std::function<void()>& at_interval);

private:
    const Launches list_;
    size_t copied_ = 0;  // copies before the launch that was simulated last, and those that were done since
    Gpu gpu_;
};

}  // namespace kernelpoint::fast_model
