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

kp_status refuse(const std::string& reason) {
    return fail(KP_EVERSION, reason + "; `kernelpoint doctor` tells more");
}

kp_status open_embedding() {
    const std::string path = own_folder() + "libkernelpoint_embedding.so";
    if (access(path.c_str(), R_OK) != 0)
        return refuse("the plugin cannot start Python: " + path +
                      " is missing; it is built only for a Python that has a shared libpython");
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return refuse("the plugin cannot start Python: " + std::string(dlerror()));
    auto start = reinterpret_cast<kp_embedding_start_fn>(dlsym(library, KP_EMBEDDING_START));
    g_embedding = start == nullptr ? nullptr : start(KP_EMBEDDING_VERSION, &set_error);
    return g_embedding != nullptr ? KP_OK : refuse(path + " belongs to another version of KernelPoint: reinstall it");
}

}  // namespace

kp_status load_embedding() {
    if (g_embedding != nullptr) return KP_OK;  // without the lock, which a thread of this process's parent may hold
    static std::atomic<pid_t> process{0};      // that counts `inside`
    static std::atomic<int> inside{0};
    static std::mutex mutex;
    if (process != getpid() && inside > 0)
        return fail(KP_EINVAL,
                    "this process was forked while a call of the plugin was inside: only its parent can go on");
    process = getpid();
    ++inside;
    kp_status status = KP_OK;
    {
        std::lock_guard<std::mutex> lock(mutex);
        if (g_embedding == nullptr) status = open_embedding();
    }
    --inside;
    return status;
}

const kp_embedding* loaded_embedding() {
    return g_embedding;
}

}  // namespace kernelpoint::shim
