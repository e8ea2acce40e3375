// The command line.
#pragma once

#include <string>

namespace kernelpoint::host {

struct Arguments {
    std::string trace;            // kernelslist.g, or a folder of traces
    std::string config;           // file of the simulated GPU
    std::string kernel_sampling;  // YAML file of the plugin; empty: simulate every launch
    std::string results;          // CSV to write; empty: none
    bool help = false;
};

extern const char* const kUsage;

// Throws ConfigError. A configuration named without path or suffix (`v100`) is a packaged one.
Arguments parse_arguments(int argc, char** argv);

// Where this program lies.
std::string program_directory();

}  // namespace kernelpoint::host
