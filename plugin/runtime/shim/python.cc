// Which Python a simulator gets. The plugin links none: it asks the environment's own where its shared library is.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "kernelpoint/descriptors.h"
#include "runtime/shim/shim.h"

extern char** environ;

namespace kernelpoint::shim {
namespace {

// Four lines: its version, version and flags as in the names of its files, and the folders of its shared library.
const char* const kAsk =
    "import sys, sysconfig; get = sysconfig.get_config_var; "
    "print(sys.version.split()[0], get('LDVERSION'), get('LIBDIR'), sys.base_prefix + '/lib', sep='\\n')";

constexpr int kPatienceMs = 30000;

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
        throw Refused(
            "KERNELPOINT_PYTHON is " + std::string(named) +
            ": no executable file; it has to be the Python of the environment that kernelpoint is installed in");
    }
    const std::string of_install = python_of_install(library);
    if (!of_install.empty() && is_executable(of_install)) return of_install;
    if (is_executable(KP_BUILD_PYTHON)) return KP_BUILD_PYTHON;
    throw Refused("no Python found for the plugin: " + (of_install.empty() ? "" : of_install + " and ") +
                  KP_BUILD_PYTHON + " do not exist; name the environment's in KERNELPOINT_PYTHON");
}

}  // namespace

Python choose_python(const std::string& library) {
    kp_settle_streams();
    Python python;
    python.executable = find_python(library);
    std::istringstream answer(first_output({python.executable, "-I", "-S", "-c", kAsk}));
    if (!std::getline(answer, python.version))
        throw Refused(
            python.executable +
            " does not run as Python: it has to be the Python of the environment that kernelpoint is installed "
            "in (KERNELPOINT_PYTHON)");
    std::string flagged;
    std::getline(answer, flagged);
    if (flagged != KP_LDVERSION)
        throw Refused(python.executable + " is Python " + python.version + ", but the plugin is for Python " +
                      KP_LDVERSION +
                      ": reinstall kernelpoint with that Python, or name the right one in KERNELPOINT_PYTHON");
    for (std::string folder; std::getline(answer, folder);) python.folders.push_back(folder);
    return python;
}

}  // namespace kernelpoint::shim
