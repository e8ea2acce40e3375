// The model's configuration from that of the simulator which it predicts: gpgpusim.config with trace.config (or what
// Accel-Sim prints of its options), MacSim's params.in, or the model's own YAML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fast_model/config.h"
#include "native/replay/macsim/predict.h"

namespace kernelpoint::fast_model {

struct ConfigurationText {
    std::string text, where;  // `where` names it in messages
};

struct Derived {
    GpuConfig config;
    std::string simulator;                  // "accelsim", "macsim", or empty for the model's own configuration
    std::vector<std::string> not_known;     // keys that are in no table of this model, in alphabetical order
    std::vector<std::string> not_modelled;  // keys that matter to cycles and have no counterpart here, as `key value`
    std::optional<replay::macsim::CoreInfo> cores;  // of a MacSim, which have a model of their own

    // Identifies what predictions depend on besides the launches.
    std::string hash() const;
};

// Several texts are one configuration, of which later ones override: all of them of one simulator, or a single one of
// the model's own. What they leave open is as in the file `base`, one of the model's own. Throws ConfigError, also
// where not one option has a counterpart here: the GPU would be that of `base`.
Derived derive_configuration(const std::vector<ConfigurationText>& texts, const std::string& base);

// One sentence for each kind of option that could not be taken over.
std::vector<std::string> notes(const Derived& derived);
// The same of files.
Derived read_configuration(const std::vector<std::string>& paths, const std::string& base);

}  // namespace kernelpoint::fast_model
