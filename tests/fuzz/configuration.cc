// A simulator's configuration for the fast model, or the model's own YAML: a GPU, or refused.
#include <cstdlib>
#include <string>

#include "fast_model/configuration/derive.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace kernelpoint::fast_model;
    static const std::string base =
        std::string(std::getenv("KERNELPOINT_SOURCE")) + "/python/kernelpoint/host_configs/v100.yaml";
    static const GpuConfig is_there = read_configuration({base}, base).config;  // throws where the file is not there
    try {
        notes(derive_configuration({{std::string(reinterpret_cast<const char*>(data), size), "input"}}, base));
    } catch (const ConfigError&) {
    }
    return 0;
}
