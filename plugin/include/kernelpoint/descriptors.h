/* Descriptors 0 to 2 are the standard streams, and nothing else. In a process that was started with one of them closed,
 * the next file that is opened gets its number, and every message would be written into that file. For hosts in C99
 * (POSIX 2008) or C++11; header only. */
#ifndef KERNELPOINT_DESCRIPTORS_H
#define KERNELPOINT_DESCRIPTORS_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Opens /dev/null for each standard stream that is closed. Call it before the process opens a file that stays open;
 * kp_load() and kp_open() call it too. */
static inline void kp_settle_streams(void) {
    int opened;
    do {
        opened = open("/dev/null", O_RDWR);
    } while (opened >= 0 && opened <= STDERR_FILENO);
    if (opened >= 0) close(opened);
}

/* The same open file under a descriptor above 2, closed on exec; `descriptor` itself where it is one. -1 with errno set
 * where there is none: `descriptor` is closed then. */
static inline int kp_above_streams(int descriptor) {
    int moved, reason;
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    reason = errno;
    close(descriptor);
    errno = reason;
    return moved;
}

#endif
