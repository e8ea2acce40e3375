/* Finds and opens the plugin at run time, for hosts written in C99 (with POSIX 2008: popen, dlopen) or C++11. Header
 * only; needs -ldl.
 *
 *     kp_api api;
 *     char problem[KP_MESSAGE_SIZE];
 *     if (kp_load(&api, NULL, problem) != 0) { report problem; stop; }      at start-up, only with the option set
 *     if (api.open(config_path, &info, &session) < 0) { report api.last_error(); stop; }
 *
 * A host that never calls kp_load() never maps the plugin, and the plugin itself maps Python only in kp_open().
 */
#ifndef KERNELPOINT_LOADER_H
#define KERNELPOINT_LOADER_H

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "abi.h"
#include "descriptors.h"

#define KP_MESSAGE_SIZE 8192 /* bytes for kp_load's message */

/* The functions of abi.h, resolved. Each field has the meaning of the function kp_<field>. */
typedef struct kp_api {
    uint32_t (*abi_version)(void);
    kp_status (*open)(const char*, const kp_host_info*, kp_session**);
    kp_status (*on_launch)(kp_session*, const kp_launch*, kp_decision*);
    kp_status (*replay_before)(kp_session*, uint32_t, uint64_t, kp_replay*);
    kp_status (*next)(kp_session*, uint32_t, uint64_t, uint64_t*);
    kp_status (*on_progress)(kp_session*, const kp_progress*, uint32_t*);
    kp_status (*on_complete)(kp_session*, const kp_result*);
    kp_status (*on_abort)(kp_session*, uint32_t, uint64_t, const char*);
    kp_status (*launch_estimate)(kp_session*, uint32_t, uint64_t, kp_cost*);
    kp_status (*launch_name)(kp_session*, uint32_t, uint64_t, const char**);
    kp_status (*finish)(kp_session*, kp_summary*);
    kp_status (*process_summary)(kp_session*, uint32_t, kp_process*);
    kp_status (*estimate_at)(kp_session*, uint32_t, uint32_t, kp_estimate*);
    const char* (*last_error)(void);
} kp_api;

/* The first line that `command` prints, without its end; empty when it prints none, or a longer one than `line` holds.
 */
static inline void kp_first_line_of(const char* command, char* line, size_t size) {
    FILE* pipe = popen(command, "r");
    char rest[256];
    size_t length;
    line[0] = '\0';
    if (pipe == NULL) return;
    if (fgets(line, (int)size, pipe) == NULL) line[0] = '\0';
    while (fgets(rest, sizeof(rest), pipe) != NULL) {
    }
    pclose(pipe);
    length = strcspn(line, "\r\n");
    line[length + 1 < size ? length : 0] = '\0'; /* a part of a name would be another name */
}

/* True in a process that runs with another user's rights than that of whoever started it (set-user-ID): what its
 * environment and its PATH name must not be loaded. */
static inline int kp_is_privileged(void) {
    return getauxval(AT_SECURE) != 0;
}

/* Path of the plugin: the environment, what the host was told, or what the installed command says; empty where that is
 * longer than `size`. */
static inline void kp_plugin_path(const char* default_path, char* path, size_t size) {
    const char* named = kp_is_privileged() ? NULL : getenv("KERNELPOINT_PLUGIN");
    if (named == NULL || *named == '\0') named = default_path;
    if (named != NULL && *named != '\0')
        snprintf(path, size, "%s", strlen(named) < size ? named : "");
    else if (kp_is_privileged())
        path[0] = '\0';
    else
        kp_first_line_of("kernelpoint doctor --plugin 2>/dev/null", path, size);
}

/* True if a file begins as a pack (.kppack, a zip archive) does. */
static inline int kp_is_pack(const char* path) {
    char begin[4] = "";
    FILE* file = fopen(path, "rb");
    if (file == NULL) return 0;
    if (fread(begin, 1, sizeof(begin), file) != sizeof(begin)) begin[0] = '\0';
    fclose(file);
    return memcmp(begin, "PK\003\004", sizeof(begin)) == 0;
}

/* Unpack a pack beside it with the command `kernelpoint` on PATH, unless that is done: the path of its trace list,
 * beside which stands kernelpoint.yaml. Empty where it cannot be unpacked; standard error then says why.
 */
static inline void kp_unpack(const char* pack, char* list, size_t size) {
    list[0] = '\0';
    if (!kp_is_privileged() && setenv("KERNELPOINT_PACK", pack, 1) == 0)
        kp_first_line_of(
            "if command -v kernelpoint >/dev/null; then kernelpoint file pack --list -- \"$KERNELPOINT_PACK\"; else "
            "echo \"kernelpoint: $KERNELPOINT_PACK: the command 'kernelpoint', which unpacks it, is not on PATH\" "
            ">&2; fi",
            list, size);
}

/* The name of the first function that the library lacks, or NULL. */
static inline const char* kp_resolve(void* library, kp_api* api) {
    static const struct {
        const char* name;
        size_t offset;
    } functions[] = {
        {"kp_abi_version", offsetof(kp_api, abi_version)},
        {"kp_open", offsetof(kp_api, open)},
        {"kp_on_launch", offsetof(kp_api, on_launch)},
        {"kp_replay_before", offsetof(kp_api, replay_before)},
        {"kp_next", offsetof(kp_api, next)},
        {"kp_on_progress", offsetof(kp_api, on_progress)},
        {"kp_on_complete", offsetof(kp_api, on_complete)},
        {"kp_on_abort", offsetof(kp_api, on_abort)},
        {"kp_launch_estimate", offsetof(kp_api, launch_estimate)},
        {"kp_launch_name", offsetof(kp_api, launch_name)},
        {"kp_finish", offsetof(kp_api, finish)},
        {"kp_process_summary", offsetof(kp_api, process_summary)},
        {"kp_estimate_at", offsetof(kp_api, estimate_at)},
        {"kp_last_error", offsetof(kp_api, last_error)},
    };
    size_t i;
    for (i = 0; i < sizeof(functions) / sizeof(functions[0]); ++i) {
        void* found = dlsym(library, functions[i].name);
        if (found == NULL) return functions[i].name;
        memcpy((char*)api + functions[i].offset, &found, sizeof(found));
    }
    return NULL;
}

/* Says in `problem` why the opened library cannot be used; 0 where it can. */
static inline int kp_refuse(const char* path, void* library, kp_api* api, char* problem) {
    const char* missing = NULL;
    uint32_t version;
    void* found = dlsym(library, "kp_abi_version");
    if (found == NULL) {
        snprintf(problem, KP_MESSAGE_SIZE, "%s is not the KernelPoint plugin: it has no function kp_abi_version", path);
        return 1;
    }
    memcpy(&api->abi_version, &found, sizeof(found));
    version = api->abi_version();
    if (version != KP_ABI_VERSION) {
        snprintf(problem, KP_MESSAGE_SIZE, "%s speaks ABI version %u, this simulator %u: %s", path, (unsigned)version,
                 (unsigned)KP_ABI_VERSION,
                 version < KP_ABI_VERSION ? "install the KernelPoint that this simulator was built with, or newer"
                                          : "build the simulator again with the installed headers");
        return 1;
    }
    missing = kp_resolve(library, api);
    if (missing == NULL) return 0;
    snprintf(problem, KP_MESSAGE_SIZE, "%s is too old for this simulator: it has no function %s", path, missing);
    return 1;
}

/* Open the plugin and fill `api`. Looked for in this order; what is named first must work:
 *   1. the environment variable KERNELPOINT_PLUGIN
 *   2. default_path, where the host knows one; may be NULL
 *   3. what `kernelpoint doctor --plugin` prints, with `kernelpoint` found on PATH
 * 0, or else `problem` (KP_MESSAGE_SIZE bytes) says what is missing or too old. The library stays open for good. */
static inline int kp_load(kp_api* api, const char* default_path, char* problem) {
    char path[PATH_MAX];
    void* library;
    kp_settle_streams();
    kp_plugin_path(default_path, path, sizeof(path));
    if (path[0] == '\0') {
        snprintf(problem, KP_MESSAGE_SIZE,
                 "the KernelPoint plugin was not found: put the command `kernelpoint` on PATH (activate the "
                 "environment it is installed in), or name libkernelpoint.so in KERNELPOINT_PLUGIN");
        return -1;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char* reason = dlerror();
        snprintf(problem, KP_MESSAGE_SIZE, "the KernelPoint plugin cannot be opened: %s", reason ? reason : path);
        return -1;
    }
    if (kp_refuse(path, library, api, problem) == 0) return 0;
    dlclose(library);
    return -1;
}

#endif
