/* File systems without locks, for tests: LD_PRELOAD it, and every lock of a file is refused, by flock and by fcntl. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

int flock(int descriptor, int operation) {
    (void)descriptor;
    (void)operation;
    errno = ENOLCK;
    return -1;
}

static int is_lock(int command) {
    return command == F_SETLK || command == F_SETLKW || command == F_GETLK || command == F_OFD_SETLK ||
           command == F_OFD_SETLKW || command == F_OFD_GETLK;
}

#define FCNTL(name)                                                                   \
    int name(int descriptor, int command, ...) {                                      \
        int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, #name); \
        va_list more;                                                                 \
        void* argument;                                                               \
        va_start(more, command);                                                      \
        argument = va_arg(more, void*);                                               \
        va_end(more);                                                                 \
        if (!is_lock(command)) return real(descriptor, command, argument);            \
        errno = ENOLCK;                                                               \
        return -1;                                                                    \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

int lockf(int descriptor, int command, off_t size) {
    (void)descriptor;
    (void)command;
    (void)size;
    errno = ENOLCK;
    return -1;
}
