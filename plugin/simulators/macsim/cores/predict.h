// Cycles of every launch of a list, as the model of MacSim's cores has them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "native/replay/footprint.h"
#include "simulators/macsim/cores/core_model.h"

namespace kernelpoint::replay::macsim {

// Raised whenever equal lists would give other numbers than before.
constexpr uint32_t kCoreModelVersion = 17;

// Prediction of one launch: means of its counts over the trajectories; the standard deviation of its cycles; its part
// in the standard deviation of the list's cycles (squares add up to the variance); cycles and mispredictions in the
// trajectory that replay takes launches' states from.
enum Predicted { kSpread = kCounts, kOfTotal, kReplayed, kReplayedMispredictions, kPredicted };
using Prediction = std::array<double, kPredicted>;

constexpr uint64_t kReplications = 12;

struct Predictions {
    std::vector<Prediction> launches;
    std::string states;  // as a StateRecorder writes them, of the trajectory that replay takes
};

// Predicts the launch of each path, in program order; zeros if a path is empty or cannot be read. The list is run
// kReplications times: what a launch takes depends on single cycles of what was before, in MacSim as in the model.
// Launches that teach the predictors nothing are not run again (see Training); they have the outcome of the same
// trace's last run. `report` is called before each launch, of all trajectories.
Predictions predict_launches(const std::vector<std::string>& paths, const SmInfo& cores, uint64_t memory_bytes,
                             const std::function<void(uint64_t launch)>& report);

}  // namespace kernelpoint::replay::macsim
