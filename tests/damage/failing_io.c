/* A layer under the C library's file functions, for tests: LD_PRELOAD it, then say where and how they fail.
 *
 * Operations on files below one folder are counted: open, write, pwrite, fsync, fdatasync, ftruncate, rename, unlink.
 * At operation number `fail_at` one fails; in the way FAIL_DEAD it and all later ones do, as in a machine without
 * power. What fsync and fdatasync brought to the disk is copied to a second folder, one file for each inode, and the
 * names that fsync of the folder brought there to `names` ("inode name" a line): what a power loss leaves.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FAIL_ONCE = 0, FAIL_SHORT = 1, FAIL_DEAD = 2 };

static char folder[4096], synced[4096];
static long count, fail_at;
static int way;
static char ours[1 << 16];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Begin to count; fail_at 0: nothing fails. */
void io_begin(const char* new_folder, const char* new_synced, long position, int new_way) {
    snprintf(folder, sizeof folder, "%s", new_folder);
    snprintf(synced, sizeof synced, "%s", new_synced);
    count = 0;
    fail_at = position;
    way = new_way;
}

/* Stop; the operations that were counted. */
long io_end(void) {
    folder[0] = '\0';
    fail_at = 0;
    return count;
}

static int is_inside(const char* path) {
    const size_t length = strlen(folder);
    return length > 0 && strncmp(path, folder, length) == 0;
}

static int is_ours(int descriptor) {
    return folder[0] != '\0' && descriptor >= 0 && descriptor < (int)sizeof ours && ours[descriptor];
}

static int fails(void) {
    ++count;
    return fail_at > 0 && (count == fail_at || (way == FAIL_DEAD && count > fail_at));
}

static int refuse(int reason) {
    errno = way == FAIL_DEAD ? EIO : reason;
    return -1;
}

static int open_any(int (*real)(const char*, int, ...), const char* path, int flags, int mode) {
    int descriptor;
    const int inside = is_inside(path);
    if (inside && fails()) return refuse(EMFILE);
    descriptor = real(path, flags, mode);
    if (descriptor >= 0 && descriptor < (int)sizeof ours) ours[descriptor] = (char)inside;
    return descriptor;
}

#define OPEN(name)                                        \
    int name(const char* path, int flags, ...) {          \
        va_list more;                                     \
        int mode;                                         \
        va_start(more, flags);                            \
        mode = (flags & O_CREAT) ? va_arg(more, int) : 0; \
        va_end(more);                                     \
        return open_any(REAL(name), path, flags, mode);   \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int descriptor, const void* bytes, size_t size) {
    if (is_ours(descriptor) && fails()) {
        if (way != FAIL_SHORT || size < 2) return refuse(ENOSPC);
        size /= 2; /* what follows would fail: the disk is full */
    }
    return REAL(write)(descriptor, bytes, size);
}

#define PWRITE(name)                                                             \
    ssize_t name(int descriptor, const void* bytes, size_t size, off_t offset) { \
        if (is_ours(descriptor) && fails()) {                                    \
            if (way != FAIL_SHORT || size < 2) return refuse(ENOSPC);            \
            size /= 2;                                                           \
        }                                                                        \
        return REAL(name)(descriptor, bytes, size, offset);                      \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define TRUNCATE(name)                                          \
    int name(int descriptor, off_t length) {                    \
        if (is_ours(descriptor) && fails()) return refuse(EIO); \
        return REAL(name)(descriptor, length);                  \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

static void keep_names(int descriptor) {
    char path[8192];
    struct dirent* entry;
    DIR* listing = fdopendir(dup(descriptor));
    FILE* names;
    snprintf(path, sizeof path, "%s/names", synced);
    names = fopen(path, "w");
    if (listing == NULL || names == NULL) abort();
    rewinddir(listing);
    while ((entry = readdir(listing)) != NULL)
        if (entry->d_name[0] != '.') fprintf(names, "%lu %s\n", (unsigned long)entry->d_ino, entry->d_name);
    fclose(names);
    closedir(listing);
}

static void keep_content(int descriptor, unsigned long inode) {
    char path[8192], block[65536];
    ssize_t got;
    off_t at = 0;
    int copy;
    snprintf(path, sizeof path, "%s/%lu", synced, inode);
    copy = REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    while ((got = pread(descriptor, block, sizeof block, at)) > 0) {
        if (REAL(write)(copy, block, (size_t)got) != got) abort();
        at += got;
    }
    REAL(close)(copy);
}

static void keep(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) return;
    if (S_ISDIR(status.st_mode))
        keep_names(descriptor);
    else
        keep_content(descriptor, (unsigned long)status.st_ino);
}

#define SYNC(name)                                              \
    int name(int descriptor) {                                  \
        if (is_ours(descriptor) && fails()) return refuse(EIO); \
        if (is_ours(descriptor)) keep(descriptor);              \
        return 0; /* the tests do not wait for a disk */        \
    }
SYNC(fsync)
SYNC(fdatasync)

int rename(const char* from, const char* to) {
    if (is_inside(from) && fails()) return refuse(EIO);
    return REAL(rename)(from, to);
}

int unlink(const char* path) {
    if (is_inside(path) && fails()) return refuse(EIO);
    return REAL(unlink)(path);
}

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < (int)sizeof ours) ours[descriptor] = 0;
    return REAL(close)(descriptor);
}
