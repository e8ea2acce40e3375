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

// The path of this library, symbolic links resolved.
std::string own_path() {
    Dl_info info;
    char resolved[PATH_MAX];
    if (dladdr(reinterpret_cast<const void*>(&load_embedding), &info) == 0) return "./libkernelpoint.so";
    return realpath(info.dli_fname, resolved) != nullptr ? resolved : info.dli_fname;
}

kp_status refuse(const std::string& reason) {
    return fail(KP_EVERSION, reason + "; `kernelpoint doctor` tells more");
}

// Opens libpython, which the embedding needs, and shows its symbols to Python's modules: it is the one that this
// process has, or else that of the chosen Python. Neither library names a place of it: a wheel serves every Python of
// its version. Returns the Python; none where this process runs Python already. Throws Refused.
Python open_libpython(const std::string& library) {
    void* opened = dlopen(KP_LIBPYTHON, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    auto runs = opened == nullptr ? nullptr : reinterpret_cast<int (*)()>(dlsym(opened, "Py_IsInitialized"));
    if (runs != nullptr && runs() != 0) return {};
    const Python python = choose_python(library);
    for (size_t i = 0; opened == nullptr && i < python.folders.size(); ++i)
        opened = dlopen((python.folders[i] + "/" KP_LIBPYTHON).c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (opened == nullptr) opened = dlopen(KP_LIBPYTHON, RTLD_NOW | RTLD_GLOBAL);
    if (opened == nullptr)
        throw Refused("the plugin cannot start " + python.executable + ": its shared library is not there (" +
                      dlerror() + ")");
    return python;
}

kp_status open_embedding() {
    const std::string own = own_path(), path = own.substr(0, own.rfind('/') + 1) + "libkernelpoint_embedding.so";
    if (access(path.c_str(), R_OK) != 0)
        return refuse("the plugin cannot start Python: " + path +
                      " is missing; it is built only for a Python that has a shared libpython");
    Python python;
    try {
        python = open_libpython(own);
    } catch (const Refused& reason) {
        return refuse(reason.what());
    }
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return refuse("the plugin cannot start Python: " + std::string(dlerror()));
    auto start = reinterpret_cast<kp_embedding_start_fn>(dlsym(library, KP_EMBEDDING_START));
    g_embedding = start == nullptr
                      ? nullptr
                      : start(KP_EMBEDDING_VERSION, &set_error, python.executable.c_str(), python.version.c_str());
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
