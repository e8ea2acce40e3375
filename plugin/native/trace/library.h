// Libraries of the system that are loaded at run time, so that neither they nor their headers need be there to build.
// The declarations follow their published, stable C interfaces.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace kernelpoint {

class Library {
public:
    // Address of a function in a library, which can be assigned to a function pointer.
    struct Symbol {
        void* address;
        template <typename Function>
        operator Function*() const {  // NOLINT
            return reinterpret_cast<Function*>(address);
        }
    };

    // Loads a library. Throws std::runtime_error with the package's name if it is missing.
    Library(const char* name, const char* package) : library_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
        if (library_ == nullptr)
            throw std::runtime_error(std::string("needs ") + name + ", which is not installed; install the package " +
                                     package);
    }
    // Throws std::runtime_error where the library has no such function.
    Symbol operator[](const char* name) const {
        void* const found = dlsym(library_, name);
        if (found == nullptr) throw std::runtime_error(std::string("needs ") + name + ", which the library lacks");
        return {found};
    }

private:
    void* const library_;
};

// Functions of a library, looked up when they are first needed.
template <typename Functions>
const Functions& loaded() {
    static const Functions functions;
    return functions;
}

}  // namespace kernelpoint
