// Progress of one launch: instructions and CTAs issued and completed as its cycles pass.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fast_model/gpu.h"
#include "native/replay/seen_lines.h"

namespace kernelpoint::fast_model {

struct Point {
    uint64_t cycles, instructions, ctas_issued, ctas_completed;
};

struct LaunchProgress {
    std::vector<Point> points;  // `interval` cycles apart, the last at the end of the launch
    LaunchResult result;
    bool ended_early = false;
};

// Simulates a launch on a GPU that holds what `touches` left (oldest first), and no more of its CTAs than `most_ctas`,
// give or take those that are issued within an interval. `goes_on` is asked at every point. Throws TraceError,
// LaunchError.
LaunchProgress follow(const GpuConfig& config, const std::string& path, const std::vector<replay::Touch>& touches,
                      Cycles interval, uint64_t most_ctas, const std::function<bool()>& goes_on);

// Traces of a touch of an earlier launch, or of a copy from the host.
void replay_touches(Gpu& gpu, const std::vector<replay::Touch>& touches);

}  // namespace kernelpoint::fast_model
