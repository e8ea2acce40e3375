// The model's configuration from that of the simulator which it predicts (its configuration files, or what it prints of
// them; see dialect.h), or from the model's own YAML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fast_model/config.h"
#include "native/replay/sm_states.h"

namespace kernelpoint::fast_model {

struct ConfigurationText {
    std::string text, where;  // `where` names it in messages
};

struct Derived {
    GpuConfig config;
    std::string simulator;                  // the dialect's name, or empty for the model's own configuration
    std::vector<std::string> not_known;     // keys that are in no table of this model, in alphabetical order
    std::vector<std::string> not_modelled;  // keys that matter to cycles and have no counterpart here, as `key value`
    std::optional<replay::SmInfo> cores;    // of a simulator whose SMs have a model of their own
    std::string cores_hash;                 // identifies what predictions of that model depend on

    // Identity of everything that predictions depend on besides the launches.
    std::string hash() const { return config.hash() + cores_hash; }
};

// Derives the model's configuration from texts, of which later ones override earlier ones: all of them of one
// simulator, or a single one of the model's own. What they leave open is as in the file `base`, one of the model's
// own. Throws ConfigError, also where not one option has a counterpart here: the GPU would be that of `base`.
Derived derive_configuration(const std::vector<ConfigurationText>& texts, const std::string& base);

// Sentences on the options that the model has no counterpart for, one for each kind.
std::vector<std::string> notes(const Derived& derived);
// Derives a configuration from files, as derive_configuration does from texts.
Derived read_configuration(const std::vector<std::string>& paths, const std::string& base);

}  // namespace kernelpoint::fast_model
