// A simulator's configuration for the fast model, or the model's own YAML: a GPU, or refused.
#include <string>

#include "fast_model/configuration/derive.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace kernelpoint::fast_model;
    static const std::string here = __FILE__;
    static const std::string base =
        here.substr(0, here.rfind('/')) + "/../../python/kernelpoint/host_configs/v100.yaml";
    try {
        notes(derive_configuration({{std::string(reinterpret_cast<const char*>(data), size), "input"}}, base));
    } catch (const ConfigError&) {
    }
    return 0;
}
