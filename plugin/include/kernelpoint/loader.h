/* Finds and opens the plugin at run time, for hosts written in C++11 or later. Header only; needs -ldl.
 *
 *     kp_api api;
 *     std::string error = kp_load(&api);                   // at start-up, only when the sampling option is set
 *     if (!error.empty()) { report it; stop; }
 *     if (api.open(config_path, &info, &session) < 0) { report api.last_error(); stop; }
 *
 * A host that never calls kp_load() never maps the plugin, and the plugin itself maps Python only in kp_open().
 */
#ifndef KERNELPOINT_LOADER_H
#define KERNELPOINT_LOADER_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <string>

#include "abi.h"

/* The functions of abi.h, resolved. Each field has the meaning of the function kp_<field>. Those that came
 * after the first release are NULL where the plugin is older: ask before the call. */
struct kp_api {
    decltype(&kp_abi_version) abi_version;
    decltype(&kp_open) open;
    decltype(&kp_on_launch) on_launch;
    decltype(&kp_next) next;
    decltype(&kp_on_progress) on_progress;
    decltype(&kp_on_complete) on_complete;
    decltype(&kp_on_abort) on_abort;
    decltype(&kp_launch_estimate) launch_estimate;
    decltype(&kp_finish) finish;
    decltype(&kp_last_error) last_error;
    decltype(&kp_launch_name) launch_name; /* may be NULL */
};

namespace kp_loader {

/* The first line that a shell command prints; empty when it prints none. */
inline std::string first_line_of(const char* command) {
    std::string line;
    FILE* pipe = popen(command, "r");
    if (pipe == NULL) return line;
    char buffer[4096];
    if (fgets(buffer, sizeof(buffer), pipe) != NULL) line = buffer;
    while (fgets(buffer, sizeof(buffer), pipe) != NULL) {
    }
    pclose(pipe);
    while (!line.empty() && (line[line.size() - 1] == '\n' || line[line.size() - 1] == '\r'))
        line.erase(line.size() - 1);
    return line;
}

/* Where the plugin is: the environment, what the host was told, or what the installed command says. */
inline std::string plugin_path(const char* default_path) {
    const char* named = getenv("KERNELPOINT_PLUGIN");
    if (named != NULL && *named != '\0') return named;
    if (default_path != NULL && *default_path != '\0') return default_path;
    return first_line_of("kernelpoint doctor --plugin 2>/dev/null");
}

template <typename Function>
inline bool resolve(void* library, const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
    return *function != NULL;
}

/* The name of the first function that the library lacks, or NULL. */
inline const char* resolve_all(void* library, kp_api* api) {
    if (!resolve(library, "kp_open", &api->open)) return "kp_open";
    if (!resolve(library, "kp_on_launch", &api->on_launch)) return "kp_on_launch";
    if (!resolve(library, "kp_next", &api->next)) return "kp_next";
    if (!resolve(library, "kp_on_progress", &api->on_progress)) return "kp_on_progress";
    if (!resolve(library, "kp_on_complete", &api->on_complete)) return "kp_on_complete";
    if (!resolve(library, "kp_on_abort", &api->on_abort)) return "kp_on_abort";
    if (!resolve(library, "kp_launch_estimate", &api->launch_estimate)) return "kp_launch_estimate";
    if (!resolve(library, "kp_finish", &api->finish)) return "kp_finish";
    if (!resolve(library, "kp_last_error", &api->last_error)) return "kp_last_error";
    resolve(library, "kp_launch_name", &api->launch_name);
    return NULL;
}

/* What is wrong with the library's version, or an empty string. */
inline std::string version_error(const std::string& path, uint32_t plugin) {
    if (plugin == KP_ABI_VERSION) return std::string();
    const std::string versions =
        path + " speaks ABI version " + std::to_string(plugin) + ", this simulator " + std::to_string(KP_ABI_VERSION);
    return versions + (plugin < KP_ABI_VERSION
                           ? ": install the KernelPoint that this simulator was built with, or newer"
                           : ": build the simulator again with the installed abi.h");
}

}  // namespace kp_loader

/* Open the plugin and fill `api`. Looked for in this order; what is named first must work:
 *   1. the environment variable KERNELPOINT_PLUGIN
 *   2. default_path, where the host knows one; may be NULL
 *   3. what `kernelpoint doctor --plugin` prints, with `kernelpoint` found on PATH
 * Returns an empty string, or one message that says what is missing or too old. The library stays open for good. */
inline std::string kp_load(kp_api* api, const char* default_path = NULL) {
    const std::string path = kp_loader::plugin_path(default_path);
    if (path.empty())
        return "the KernelPoint plugin was not found: put the command `kernelpoint` on PATH (activate the environment "
               "it is installed in), or name libkernelpoint.so in KERNELPOINT_PLUGIN";
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char* reason = dlerror();
        return "the KernelPoint plugin cannot be opened: " + std::string(reason != NULL ? reason : path.c_str());
    }
    if (!kp_loader::resolve(library, "kp_abi_version", &api->abi_version)) {
        dlclose(library);
        return path + " is not the KernelPoint plugin: it has no function kp_abi_version";
    }
    const std::string mismatch = kp_loader::version_error(path, api->abi_version());
    const char* missing = mismatch.empty() ? kp_loader::resolve_all(library, api) : NULL;
    if (mismatch.empty() && missing == NULL) return std::string();
    dlclose(library);
    return !mismatch.empty() ? mismatch : path + " is too old for this simulator: it has no function " + missing;
}

#endif
