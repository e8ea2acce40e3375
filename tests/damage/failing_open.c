/* A layer under the C library's open, for tests: files whose path ends with FAILING_OPEN cannot be opened, for the
 * reason of number FAILING_ERRNO. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int fails(const char* path) {
    const char* name = getenv("FAILING_OPEN");
    const size_t length = strlen(path), end = name == NULL ? 0 : strlen(name);
    return end > 0 && length >= end && strcmp(path + length - end, name) == 0;
}

#define OPEN(name)                                                                           \
    int name(const char* path, int flags, ...) {                                             \
        va_list more;                                                                        \
        int mode;                                                                            \
        va_start(more, flags);                                                               \
        mode = (flags & O_CREAT) ? va_arg(more, int) : 0;                                    \
        va_end(more);                                                                        \
        if (fails(path)) {                                                                   \
            errno = atoi(getenv("FAILING_ERRNO"));                                           \
            return -1;                                                                       \
        }                                                                                    \
        return ((int (*)(const char*, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
