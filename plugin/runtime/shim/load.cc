#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>

#include "runtime/shim/shim.h"

namespace kernelpoint::shim {
namespace {

std::atomic<const kp_embedding*> g_embedding{nullptr};

void set_error(const char* reason) {
    fail(KP_EFAILED, reason);
}

// The folder this library was loaded from, symbolic links resolved; ends with a slash.
std::string own_folder() {
    Dl_info info;
    char resolved[PATH_MAX];
    if (dladdr(reinterpret_cast<const void*>(&load_embedding), &info) == 0) return "./";
    const std::string path = realpath(info.dli_fname, resolved) != nullptr ? resolved : info.dli_fname;
    return path.substr(0, path.rfind('/') + 1);
}

const kp_embedding* refuse(const std::string& reason) {
    fail(KP_EVERSION, reason + "; `kernelpoint doctor` tells more");
    return nullptr;
}

const kp_embedding* open_embedding() {
    const std::string path = own_folder() + "libkernelpoint_embedding.so";
    if (access(path.c_str(), R_OK) != 0)
        return refuse("the plugin cannot start Python: " + path +
                      " is missing; it is built only for a Python that has a shared libpython");
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return refuse("the plugin cannot start Python: " + std::string(dlerror()));
    auto start = reinterpret_cast<kp_embedding_start_fn>(dlsym(library, KP_EMBEDDING_START));
    const kp_embedding* embedding = start == nullptr ? nullptr : start(KP_EMBEDDING_VERSION, &set_error);
    return embedding != nullptr ? embedding : refuse(path + " belongs to another version of KernelPoint: reinstall it");
}

}  // namespace

const kp_embedding* load_embedding() {
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    if (g_embedding == nullptr) g_embedding = open_embedding();
    return g_embedding;
}

const kp_embedding* loaded_embedding() {
    return g_embedding;
}

}  // namespace kernelpoint::shim
