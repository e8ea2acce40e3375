/* Finds and opens the plugin at run time, for hosts written in C99 (with POSIX 2008: popen, dlopen) or C++11. Header
 * only; needs -ldl.
 *
 *     kp_core kp;
 *     char problem[KP_MESSAGE_SIZE];
 *     if (kp_load(&kp, NULL, problem) != 0) { report problem; stop; }      at start-up, only with the option set
 *     if (kp.open(config_path, &host, &session) < 0) { report kp.last_error(); stop; }
 *
 * A host that never calls kp_load() never maps the plugin, and the plugin itself maps Python only in `open`.
 */
#ifndef KERNELPOINT_LOADER_H
#define KERNELPOINT_LOADER_H

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "abi.h"
#include "descriptors.h"

#define KP_MESSAGE_SIZE 8192 /* bytes for kp_load's message */

/* Read the first line that `command` prints; empty if it prints none, or one that is too long for `line`. */
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

/* True if the process runs with other rights than the user who started it (set-user-ID). Then nothing named by its
 * environment or PATH may be loaded. */
static inline int kp_is_privileged(void) {
    return getauxval(AT_SECURE) != 0;
}

/* Find the plugin's path: from the environment, from the host's default, or from the installed command; empty if it is
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

/* Copy a table of functions as far as both sides know it; functions that the plugin does not have become NULL. */
static inline void kp_copy_table(const void* table, void* into, size_t size) {
    uint32_t has;
    memcpy(&has, table, sizeof(has));
    memset(into, 0, size);
    memcpy(into, table, has < size ? has : size);
}

/* Fill the table of an extension, e.g. (core, KP_STATE, &state, sizeof(state)). 0, or -1 where it is not offered. */
static inline int kp_extend(const kp_core* core, const char* name, void* table, size_t size) {
    const void* offered = core->extension(name);
    memset(table, 0, size);
    if (offered == NULL) return -1;
    kp_copy_table(offered, table, size);
    return 0;
}

/* Open the plugin and fill its core table. Looked for in this order; what is named first must work:
 *   1. the environment variable KERNELPOINT_PLUGIN
 *   2. default_path, where the host knows one; may be NULL
 *   3. what `kernelpoint doctor --plugin` prints, with `kernelpoint` found on PATH
 * 0, or else `problem` (KP_MESSAGE_SIZE bytes) says what is missing or too old. The library stays open for good. */
static inline int kp_load(kp_core* core, const char* default_path, char* problem) {
    char path[PATH_MAX];
    const char* reason = NULL;
    const kp_core* table;
    const kp_core* (*connect)(uint32_t, const char**) = NULL;
    void *library, *function;
    memset(core, 0, sizeof(*core));
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
        reason = dlerror();
        snprintf(problem, KP_MESSAGE_SIZE, "the KernelPoint plugin cannot be opened: %s", reason ? reason : path);
        return -1;
    }
    function = dlsym(library, "kp_connect");
    if (function == NULL) {
        const int is_older = dlsym(library, "kp_abi_version") != NULL;
        snprintf(problem, KP_MESSAGE_SIZE,
                 is_older ? "%s is of a KernelPoint older than this simulator's headers: install a newer KernelPoint"
                          : "%s is not the KernelPoint plugin: it has no function kp_connect",
                 path);
        dlclose(library);
        return -1;
    }
    memcpy(&connect, &function, sizeof(function));
    table = connect(KP_ABI_VERSION, &reason);
    if (table != NULL) {
        kp_copy_table(table, core, sizeof(*core));
        return 0;
    }
    snprintf(problem, KP_MESSAGE_SIZE, "%s: %s", path, reason ? reason : "it refuses this simulator");
    dlclose(library);
    return -1;
}

#endif
