#include "runtime/embedding/environment.h"

#include <Python.h>
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

#include <vector>

#include "runtime/embedding/failure.h"

extern char** environ;

namespace kernelpoint::embedding {
namespace {

#ifdef Py_GIL_DISABLED
constexpr const char* kThreading = "free-threaded";
#else
constexpr const char* kThreading = "";
#endif

// Answers the version as Py_GetVersion() begins, then "free-threaded" where it is.
const char* const kAskVersion = "import sys; print(sys.version.split()[0], 'free-threaded' * sys.abiflags.count('t'))";

std::string series() {
    return std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);
}

std::string parent(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

// As the user that the process runs as, who may be another than the one who started it.
bool may(int access, const std::string& path) {
    return faccessat(AT_FDCWD, path.c_str(), access, AT_EACCESS) == 0;
}

bool is_executable(const std::string& path) {
    struct stat status;
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && may(X_OK, path);
}

std::string own_path() {
    Dl_info info;
    char resolved[PATH_MAX];
    if (dladdr(reinterpret_cast<const void*>(&package_parent), &info) == 0) return "";
    return realpath(info.dli_fname, resolved) != nullptr ? resolved : info.dli_fname;
}

// <prefix>/bin/pythonX.Y for a package in <prefix>/lib/pythonX.Y/...; empty where it lies elsewhere.
std::string python_of_install(const std::string& package_folder) {
    const std::string wanted = "python" + series();
    for (std::string folder = package_folder; folder.size() > 1; folder = parent(folder))
        if (name(folder) == wanted) return parent(parent(folder)) + "/bin/" + wanted;
    return "";
}

std::string libpython_version() {
    const std::string version = Py_GetVersion();
    return version.substr(0, version.find(' ')) + " " + kThreading;
}

constexpr int kPatienceMs = 30000;

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

std::string trimmed(const std::string& text) {
    return text.substr(0, text.find_last_not_of(" \n") + 1);
}

void check_version(const std::string& python) {
    const std::string answer = trimmed(first_output({python, "-I", "-S", "-c", kAskVersion}));
    if (answer.empty())
        throw Failure(KP_EVERSION, python +
                                       " does not run as Python: it has to be the Python of the environment that "
                                       "kernelpoint is installed in (KERNELPOINT_PYTHON)");
    const std::string ours = trimmed(libpython_version());
    if (answer != ours)
        throw Failure(KP_EVERSION, python + " is Python " + answer + ", but the plugin's libpython is " + ours +
                                       ": reinstall kernelpoint with that Python, or name the right one in "
                                       "KERNELPOINT_PYTHON");
}

std::string find_python() {
    const char* named = secure_getenv("KERNELPOINT_PYTHON");  // nothing, in a process that runs as another user
    if (named != nullptr && *named != '\0') {
        if (is_executable(named)) return named;
        throw Failure(KP_EVERSION, "KERNELPOINT_PYTHON is " + std::string(named) +
                                       ": no executable file; it has to be the Python of the environment that "
                                       "kernelpoint is installed in");
    }
    const std::string of_install = python_of_install(package_parent());
    if (!of_install.empty() && is_executable(of_install)) return of_install;
    if (is_executable(KP_BUILD_PYTHON)) return KP_BUILD_PYTHON;
    throw Failure(KP_EVERSION, "no Python found for the plugin: " + (of_install.empty() ? "" : of_install + " and ") +
                                   KP_BUILD_PYTHON + " do not exist; name the environment's in KERNELPOINT_PYTHON");
}

}  // namespace

std::string package_parent() {
    const std::string package = parent(parent(own_path()));
    if (may(R_OK, package + "/__init__.py")) return parent(package);
    throw Failure(KP_EVERSION, own_path() + " does not lie in the package it belongs to (no " + package +
                                   "/__init__.py): use the plugin where it is installed");
}

std::string python_executable() {
    const std::string python = find_python();
    check_version(python);
    return python;
}

void check_libpython() {
    const std::string version = Py_GetVersion();
    if (version.rfind(series() + ".", 0) == 0) return;
    throw Failure(KP_EVERSION, "the plugin was built for Python " + series() + ", but this process holds Python " +
                                   version.substr(0, version.find(' ')) +
                                   ": use a simulator without that Python, or "
                                   "build kernelpoint with it");
}

}  // namespace kernelpoint::embedding
