// The command line.
#pragma once

#include <string>
#include <vector>

namespace kernelpoint::host {

struct Arguments {
    std::string trace;                // kernelslist.g, or a folder of traces
    std::vector<std::string> config;  // files of the simulated GPU: one of the model's own, or a simulator's
    std::string kernel_sampling;      // YAML file of the plugin; empty: simulate every launch
    std::string results;              // CSV to write; empty: none
    bool help = false;
};

extern const char* const kUsage;

// Parses the command line; throws ConfigError. A configuration without path or suffix (`v100`) is a packaged one.
Arguments parse_arguments(int argc, char** argv);

// Path of a packaged configuration.
std::string packaged_config(const std::string& name);

// Path of the plugin that is installed with this program.
std::string plugin_path();

}  // namespace kernelpoint::host
