#include "runtime/embedding/interpreter.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <string>
#include <vector>

#include "kernelpoint/descriptors.h"
#include "runtime/embedding/failure.h"
#include "runtime/embedding/session.h"

namespace py = pybind11;

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
    if (dladdr(reinterpret_cast<const void*>(&start_python), &info) == 0) return "";
    return realpath(info.dli_fname, resolved) != nullptr ? resolved : info.dli_fname;
}

// The folder that holds the package `kernelpoint` which this library is a part of. Throws Failure when it was moved
// out.
std::string package_parent() {
    const std::string package = parent(parent(own_path()));
    if (may(R_OK, package + "/__init__.py")) return parent(package);
    throw Failure(KP_EVERSION, own_path() + " does not lie in the package it belongs to (no " + package +
                                   "/__init__.py): use the plugin where it is installed");
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

// The executable of the environment that the plugin is installed in, checked to exist and to be the version of this
// libpython. First found of: KERNELPOINT_PYTHON (which then has to work), <prefix>/bin/pythonX.Y where the package lies
// in <prefix>/lib/pythonX.Y, the Python that built this library. Throws Failure.
std::string python_executable() {
    const std::string python = find_python();
    check_version(python);
    return python;
}

// Throws Failure unless the libpython in this process is of the version that this library was compiled for.
void check_libpython() {
    const std::string version = Py_GetVersion();
    if (version.rfind(series() + ".", 0) == 0) return;
    throw Failure(KP_EVERSION, "the plugin was built for Python " + series() + ", but this process holds Python " +
                                   version.substr(0, version.find(' ')) +
                                   ": use a simulator without that Python, or "
                                   "build kernelpoint with it");
}

// Leaked on purpose: freeing a Python object while the process ends would crash it.
PyObject* g_open = nullptr;

// Extension modules look libpython's symbols up in the process, where RTLD_LOCAL hides them; this shows them again.
void promote_libpython() {
    if (dlopen(KP_LIBPYTHON, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) != nullptr) return;
    throw Failure(KP_EVERSION, std::string(KP_LIBPYTHON) + " cannot be made visible to Python's modules: " + dlerror());
}

// True in a process with rights that the user who started it has not: what that user's environment names is not run.
bool is_privileged() {
    return getauxval(AT_SECURE) != 0;
}

void check(const PyStatus& status, const char* step) {
    if (!PyStatus_Exception(status)) return;
    throw Failure(KP_EVERSION, std::string("Python does not start (") + step +
                                   "): " + (status.err_msg != nullptr ? status.err_msg : "no reason given"));
}

// The host keeps its locale; paths and text are UTF-8 whatever it is; PYTHONHOME and the like are not for us.
void preinitialise() {
    PyPreConfig config;
    PyPreConfig_InitIsolatedConfig(&config);
    config.isolated = 0;
    config.configure_locale = 0;
    config.utf8_mode = 1;
    check(Py_PreInitialize(&config), "before configuration");
}

// As the environment's own python would find its packages: user site counts, and settle() adds PYTHONPATH.
void initialise(const std::string& python) {
    preinitialise();
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    config.isolated = 0;
    config.user_site_directory = is_privileged() ? 0 : 1;
    config.install_signal_handlers = 0;
    PyStatus status = PyConfig_SetBytesString(&config, &config.executable, python.c_str());
    if (!PyStatus_Exception(status)) status = PyConfig_SetBytesString(&config, &config.program_name, python.c_str());
    if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    check(status, python.c_str());
}

// Import the kernelpoint that this library is a part of, wherever sys.path leads.
void import_package() {
    const std::string parent = package_parent();
    py::list path = py::module_::import("sys").attr("path");
    path.insert(0, parent);
    py::module_ package;
    try {
        package = py::module_::import("kernelpoint");
    } catch (...) {
        path.attr("remove")(parent);
        throw;
    }
    path.attr("remove")(parent);
    const std::string found = utf8(package.attr("__file__"));
    const py::object samefile = py::module_::import("os.path").attr("samefile");
    if (samefile(found, parent + "/kernelpoint/__init__.py").cast<bool>()) return;
    throw Failure(KP_EVERSION, "the plugin belongs to " + parent +
                                   "/kernelpoint, but this Python has already imported " + found +
                                   ": use the plugin that `kernelpoint doctor --plugin` names in that Python");
}

void import_boundary(bool own_interpreter) {
    try {
        import_package();
        load_error_classes();
        if (own_interpreter)
            py::module_::import("kernelpoint.session.embedded")
                .attr("settle")(py::cpp_function(&write_line), is_privileged());
        g_open = py::object(py::module_::import("kernelpoint.session.boundary").attr("open")).release().ptr();
    } catch (py::error_already_set& error) {
        throw from_python(error, KP_EVERSION);
    }
}

void start_own() {
    const std::string python = python_executable();
    promote_libpython();
    initialise(python);
    PyEval_SaveThread();
}

}  // namespace

void start_python() {
    static std::mutex mutex;
    static bool own_interpreter = false;
    std::lock_guard<std::mutex> lock(mutex);
    if (g_open != nullptr) return;
    kp_settle_streams();
    check_libpython();
    if (!Py_IsInitialized()) {
        start_own();
        own_interpreter = true;
    }
    Gil gil;
    import_boundary(own_interpreter);
}

py::handle boundary_open() {
    return g_open;
}

}  // namespace kernelpoint::embedding
