#include "memory_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <map>

namespace fuzz {
namespace {

struct OpenFile {
    std::string* bytes;
    size_t at;
};

constexpr int first_descriptor = 1 << 20;  // above what a process may have
constexpr char root[] = "/memory/";

std::map<std::string, std::string>& files() {
    static auto* table = new std::map<std::string, std::string>;
    return *table;
}
std::map<int, OpenFile>& descriptors() {
    static auto* table = new std::map<int, OpenFile>;
    return *table;
}

bool is_ours(const char* path) {
    return std::strncmp(path, root, sizeof root - 1) == 0;
}

int open_file(const char* path) {
    const auto found = files().find(path);
    if (found == files().end()) {
        errno = ENOENT;
        return -1;
    }
    int descriptor = first_descriptor;
    while (descriptors().count(descriptor) != 0) ++descriptor;
    descriptors()[descriptor] = {&found->second, 0};
    return descriptor;
}

ssize_t copy_out(const std::string& bytes, void* to, size_t size, size_t from) {
    const size_t got = from < bytes.size() ? std::min(size, bytes.size() - from) : 0;
    if (got > 0) std::memcpy(to, bytes.data() + from, got);
    return static_cast<ssize_t>(got);
}

int describe(const std::string& bytes, struct stat* status) {
    *status = {};
    status->st_mode = S_IFREG | 0644;
    status->st_size = static_cast<off_t>(bytes.size());
    static int64_t changes = 0;
    status->st_mtim.tv_nsec = ++changes;  // nothing that was read of a file before is taken for what it holds now
    return 0;
}

int describe_path(const char* path, struct stat* status) {
    const auto found = files().find(path);
    if (found != files().end()) return describe(found->second, status);
    const auto below = files().lower_bound(std::string(path) + "/");
    if (below != files().end() && below->first.compare(0, std::strlen(path), path) == 0) {
        *status = {};
        status->st_mode = S_IFDIR | 0755;
        return 0;
    }
    errno = ENOENT;
    return -1;
}

}  // namespace

void put_file(const std::string& path, std::string bytes) {
    files()[path] = std::move(bytes);
}

void remove_files() {
    files().clear();
}

}  // namespace fuzz

extern "C" {

int __real_open(const char* path, int flags, ...);
int __real_close(int descriptor);
ssize_t __real_read(int descriptor, void* to, size_t size);
ssize_t __real_pread(int descriptor, void* to, size_t size, off_t from);
int __real_stat(const char* path, struct stat* status);
int __real_fstat(int descriptor, struct stat* status);

int __wrap_open(const char* path, int flags, ...) {
    if (fuzz::is_ours(path)) return fuzz::open_file(path);
    va_list more;
    va_start(more, flags);
    const int mode = (flags & O_CREAT) != 0 ? va_arg(more, int) : 0;
    va_end(more);
    return __real_open(path, flags, mode);
}

int __wrap_close(int descriptor) {
    return fuzz::descriptors().erase(descriptor) != 0 ? 0 : __real_close(descriptor);
}

ssize_t __wrap_read(int descriptor, void* to, size_t size) {
    const auto found = fuzz::descriptors().find(descriptor);
    if (found == fuzz::descriptors().end()) return __real_read(descriptor, to, size);
    const ssize_t got = fuzz::copy_out(*found->second.bytes, to, size, found->second.at);
    found->second.at += static_cast<size_t>(got);
    return got;
}

ssize_t __wrap_pread(int descriptor, void* to, size_t size, off_t from) {
    const auto found = fuzz::descriptors().find(descriptor);
    if (found == fuzz::descriptors().end()) return __real_pread(descriptor, to, size, from);
    return fuzz::copy_out(*found->second.bytes, to, size, static_cast<size_t>(from));
}

int __wrap_stat(const char* path, struct stat* status) {
    return fuzz::is_ours(path) ? fuzz::describe_path(path, status) : __real_stat(path, status);
}

int __wrap_fstat(int descriptor, struct stat* status) {
    const auto found = fuzz::descriptors().find(descriptor);
    return found == fuzz::descriptors().end() ? __real_fstat(descriptor, status) : fuzz::describe(*found->second.bytes, status);
}

}  // extern "C"
