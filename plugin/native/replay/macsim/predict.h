// Cycles of every launch of a list, as the model of MacSim's cores has them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "native/replay/footprint.h"
#include "native/replay/macsim/core_state.h"
#include "native/replay/macsim/training.h"

namespace kernelpoint::replay::macsim {

// The cores of a MacSim, as far as the model depends on them.
struct CoreInfo {
    Residency residency;
    PredictorInfo predictor;
};

// Raised whenever equal lists would give other numbers than before.
constexpr uint32_t kCoreModelVersion = 1;

// For each path, in program order: zeros where it is empty or cannot be read. Launches that teach the predictors
// nothing are not run again (see Training); they have the outcome of the same trace's last run. `goes_on` is called
// before each launch; where it says no, the outcomes so far are returned.
std::vector<Outcome> predict_launches(const std::vector<std::string>& paths, const CoreInfo& cores,
                                      uint64_t memory_bytes, const std::function<bool(uint64_t launch)>& goes_on);

}  // namespace kernelpoint::replay::macsim
