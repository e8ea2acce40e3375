// Libraries of the system that are loaded at run time, so that they need not be there to build.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace kernelpoint {

// Throws std::runtime_error that names the package where the library is missing.
inline void* load_library(const char* name, const char* package) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        throw std::runtime_error(std::string("needs ") + name + ", which is not installed; install the package " +
                                 package);
    return library;
}

template <typename Function>
void bind_symbol(void* library, const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, symbol));
    if (function == nullptr) throw std::runtime_error(std::string("needs ") + symbol + ", which the library lacks");
}

}  // namespace kernelpoint
