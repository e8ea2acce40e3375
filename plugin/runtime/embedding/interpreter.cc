#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

#include <filesystem>
#include <mutex>
#include <string>
#include <utility>

#include "kernelpoint/loader.h"
#include "runtime/embedding/call.h"

namespace kernelpoint::embedding {

namespace py = pybind11;

namespace {

constexpr int kInnermostLines = 3;

// Borrowed for the life of the process: the interpreter is never finalised.
PyObject* g_user_error = nullptr;
PyObject* g_host_error = nullptr;
PyObject* g_setup_error = nullptr;

thread_local bool t_interrupted = false;

bool is_a(const py::error_already_set& error, PyObject* type) {
    return type != nullptr && error.matches(type);
}

// "session.py:12 in decide, ..." from the outside in.
std::string innermost_lines(const py::error_already_set& error) {
    if (!error.trace()) return "";
    std::string lines;
    py::object frames = py::module_::import("traceback").attr("extract_tb")(error.trace(), -kInnermostLines);
    for (py::handle frame : frames)
        lines += (lines.empty() ? " (" : ", ") + utf8(frame.attr("filename")) + ":" + utf8(py::str(frame.attr("lineno"))) +
                 " in " + utf8(frame.attr("name"));
    return lines.empty() ? "" : lines + ")";
}

std::string message(const py::error_already_set& error) {
    if (is_a(error, PyExc_KeyboardInterrupt)) return kInterrupted;
    try {
        const std::string text = utf8(py::str(error.value()));
        if (is_a(error, g_user_error)) return text;
        const std::string type = utf8(error.type().attr("__name__"));
        return type + (text.empty() ? "" : ": " + text) + innermost_lines(error);
    } catch (py::error_already_set&) {
        return "a Python exception whose message cannot be made";
    }
}

}  // namespace

void load_error_classes() {
    const py::module_ errors = py::module_::import("kernelpoint.errors");
    g_user_error = py::object(errors.attr("KernelPointError")).release().ptr();
    g_host_error = py::object(errors.attr("HostError")).release().ptr();
    g_setup_error = py::object(errors.attr("SetupError")).release().ptr();
}

Failure from_python(py::error_already_set& error, kp_status otherwise) {
    t_interrupted = t_interrupted || is_a(error, PyExc_KeyboardInterrupt);
    const std::string text = message(error);
    if (is_a(error, g_host_error)) return Failure(KP_EINVAL, text);
    if (is_a(error, g_setup_error)) return Failure(KP_EVERSION, text);
    return Failure(otherwise, text);
}

bool was_interrupted() {
    return std::exchange(t_interrupted, false);
}

std::string utf8(py::handle text) {
    py::object bytes = py::reinterpret_steal<py::object>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
    if (!bytes) throw py::error_already_set();
    return std::string(PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
}

Python g_python;

namespace {

// The folder that holds the package `kernelpoint` which this library is a part of.
std::string package_parent() {
    Dl_info info;
    char resolved[PATH_MAX];
    if (dladdr(reinterpret_cast<const void*>(&start_python), &info) == 0) return ".";
    const std::string path = realpath(info.dli_fname, resolved) != nullptr ? resolved : info.dli_fname;
    return std::filesystem::path(path).parent_path().parent_path().parent_path().string();
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
    config.user_site_directory = kp_is_privileged() ? 0 : 1;  // what its user names is not run then
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
    throw Failure(KP_EVERSION, "the plugin belongs to " + parent + "/kernelpoint, but this Python has already imported " +
                                   found + ": use the plugin that `kernelpoint doctor --plugin` names in that Python");
}

void import_boundary(bool own_interpreter) {
    try {
        import_package();
        load_error_classes();
        if (own_interpreter)
            py::module_::import("kernelpoint.session.embedded")
                .attr("settle")(py::cpp_function(&write_line), kp_is_privileged() != 0);
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
