#include "runtime/embedding/interpreter.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include <mutex>
#include <string>

#include "kernelpoint/descriptors.h"
#include "runtime/embedding/failure.h"
#include "runtime/embedding/session.h"

namespace py = pybind11;

namespace kernelpoint::embedding {

Python g_python;

namespace {

std::string parent(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

// The folder that holds the package `kernelpoint` which this library is a part of.
std::string package_parent() {
    Dl_info info;
    char resolved[PATH_MAX];
    if (dladdr(reinterpret_cast<const void*>(&start_python), &info) == 0) return ".";
    const std::string path = realpath(info.dli_fname, resolved) != nullptr ? resolved : info.dli_fname;
    return parent(parent(parent(path)));
}

std::string libpython_version() {
    const std::string version = Py_GetVersion();
    return version.substr(0, version.find(' '));
}

// Throws Failure unless the libpython in this process is of the version that this library was compiled for.
void check_libpython() {
    const std::string series = std::to_string(PY_MAJOR_VERSION) + "." + std::to_string(PY_MINOR_VERSION);
    if (libpython_version().rfind(series + ".", 0) == 0) return;
    throw Failure(KP_EVERSION, "the plugin was built for Python " + series + ", but this process holds Python " +
                                   libpython_version() +
                                   ": use a simulator without that Python, or "
                                   "build kernelpoint with it");
}

// Leaked on purpose: freeing a Python object while the process ends would crash it.
PyObject* g_open = nullptr;

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
    if (g_python.version != libpython_version())
        throw Failure(KP_EVERSION, g_python.executable + " is Python " + g_python.version +
                                       ", but this process holds libpython " + libpython_version() +
                                       ": use a simulator without that libpython, or name its Python in "
                                       "KERNELPOINT_PYTHON");
    initialise(g_python.executable);
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
