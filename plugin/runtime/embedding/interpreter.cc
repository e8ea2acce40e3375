#include "runtime/embedding/interpreter.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <mutex>
#include <string>

#include "kernelpoint/descriptors.h"
#include "runtime/embedding/environment.h"
#include "runtime/embedding/failure.h"
#include "runtime/embedding/session.h"

namespace py = pybind11;

namespace kernelpoint::embedding {
namespace {

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
