// Which Python a simulator gets, and how it comes into the process. The plugin links none: it asks the environment's
// own where its shared library is.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernelpoint/descriptors.h"
#include "runtime/shim/shim.h"

namespace kernelpoint::shim {

namespace {

// The Python of the environment that the plugin is installed in, as it says itself.
struct Python {
    std::string executable, version;
    std::vector<std::string> folders;  // where its shared library may be
};

// Why no Python can be had.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Four lines: its version, version and flags as in the names of its files, and the folders of its shared library.
const char* const kAsk =
    "import sys, sysconfig; get = sysconfig.get_config_var; "
    "print(sys.version.split()[0], get('LDVERSION'), get('LIBDIR'), sys.base_prefix + '/lib', sep='\\n')";

constexpr int kPatienceMs = 30000;

// As the user that the process runs as, who may be another than the one who started it.
bool may(int access, const std::string& path) {
    return faccessat(AT_FDCWD, path.c_str(), access, AT_EACCESS) == 0;
}

bool is_executable(const std::string& path) {
    struct stat status;
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && may(X_OK, path);
}

// Numerics: std::filesystem::path computes its capacity in floating point, which would set the host's inexact flag.
std::string parent(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

// <prefix>/bin/pythonX.Y for a package in <prefix>/lib/pythonX.Y/...; empty where it lies elsewhere. Throws Refused
// where the library was moved out of its package.
std::string python_of_install(const std::string& library) {
    const std::string package = parent(parent(library)), wanted = std::string("python") + KP_PYTHON;
    if (!may(R_OK, package + "/__init__.py"))
        throw Refused(library + " does not lie in the package it belongs to (no " + package +
                      "/__init__.py): use the plugin where it is installed");
    for (std::string folder = parent(package); folder.size() > 1; folder = parent(folder))
        if (name(folder) == wanted) return parent(parent(folder)) + "/bin/" + wanted;
    return "";
}

// Start `command` with its output going to `output`; -1 where it cannot be started.
pid_t start(const std::vector<std::string>& command, int output) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = -1;
    if (posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) child = -1;
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

std::string read_once(int input) {
    pollfd ready = {input, POLLIN, 0};
    int count;
    while ((count = poll(&ready, 1, kPatienceMs)) < 0 && errno == EINTR) {
    }
    char buffer[4096];
    const ssize_t size = count > 0 ? read(input, buffer, sizeof(buffer)) : 0;
    return std::string(buffer, size > 0 ? static_cast<size_t>(size) : 0);
}

// The first output of a program, up to 4 KiB, as it comes in one piece; empty when it does not start, prints nothing,
// or prints nothing for 30 seconds. No shell; its standard error is dropped.
std::string first_output(const std::vector<std::string>& command) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return "";
    const pid_t child = start(command, ends[1]);
    close(ends[1]);
    const std::string output = child < 0 ? "" : read_once(ends[0]);
    close(ends[0]);
    if (child < 0) return "";
    if (output.empty()) kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return output;
}

std::string find_python(const std::string& library) {
    const char* named = secure_getenv("KERNELPOINT_PYTHON");  // nothing, in a process that runs as another user
    if (named != nullptr && *named != '\0') {
        if (is_executable(named)) return named;
        throw Refused("KERNELPOINT_PYTHON is " + std::string(named) +
                      ": no executable file; it has to be the Python of the environment that kernelpoint is installed in");
    }
    const std::string of_install = python_of_install(library);
    if (!of_install.empty() && is_executable(of_install)) return of_install;
    if (is_executable(KP_BUILD_PYTHON)) return KP_BUILD_PYTHON;
    throw Refused("no Python found for the plugin: " + (of_install.empty() ? "" : of_install + " and ") + KP_BUILD_PYTHON +
                  " do not exist; name the environment's in KERNELPOINT_PYTHON");
}

// Chooses it: KERNELPOINT_PYTHON, which then has to work; <prefix>/bin/pythonX.Y where the package lies in
// <prefix>/lib/pythonX.Y; the Python that built the plugin. Throws Refused.
//   library  path of the plugin
Python choose_python(const std::string& library) {
    kp_settle_streams();
    Python python;
    python.executable = find_python(library);
    std::istringstream answer(first_output({python.executable, "-I", "-S", "-c", kAsk}));
    if (!std::getline(answer, python.version))
        throw Refused(python.executable +
                      " does not run as Python: it has to be the Python of the environment that kernelpoint is installed "
                      "in (KERNELPOINT_PYTHON)");
    std::string flagged;
    std::getline(answer, flagged);
    if (flagged != KP_LDVERSION)
        throw Refused(python.executable + " is Python " + python.version + ", but the plugin is for Python " + KP_LDVERSION +
                      ": reinstall kernelpoint with that Python, or name the right one in KERNELPOINT_PYTHON");
    for (std::string folder; std::getline(answer, folder);) python.folders.push_back(folder);
    return python;
}

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
        throw Refused("the plugin cannot start " + python.executable + ": its shared library is not there (" + dlerror() + ")");
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
    g_embedding =
        start == nullptr ? nullptr : start(KP_EMBEDDING_VERSION, &set_error, python.executable.c_str(), python.version.c_str());
    return g_embedding != nullptr ? KP_OK : refuse(path + " belongs to another version of KernelPoint: reinstall it");
}

}  // namespace

kp_status load_embedding() {
    if (g_embedding != nullptr) return KP_OK;  // without the lock, which a thread of this process's parent may hold
    static std::atomic<pid_t> process{0};      // that counts `inside`
    static std::atomic<int> inside{0};
    static std::mutex mutex;
    if (process != getpid() && inside > 0)
        return fail(KP_EINVAL, "this process was forked while a call of the plugin was inside: only its parent can go on");
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
