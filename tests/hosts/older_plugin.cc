// The plugin that the environment variable WHOLE_PLUGIN names, without the functions that LACKING names: what a host
// meets in an older plugin. "state": the extension is not offered.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "kernelpoint/abi.h"

extern "C" const kp_core* kp_connect(uint32_t version, const char** reason) {
    static kp_core core;
    void* const whole = dlopen(std::getenv("WHOLE_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    core = *reinterpret_cast<decltype(&kp_connect)>(dlsym(whole, "kp_connect"))(version, reason);
    const char* const lacking = std::getenv("LACKING");
    if (std::strstr(lacking, "progress") != nullptr) core.progress = nullptr;
    if (std::strstr(lacking, "cost") != nullptr) core.cost = nullptr;
    if (std::strstr(lacking, "state") != nullptr) core.extension = [](const char*) -> const void* { return nullptr; };
    return &core;
}
