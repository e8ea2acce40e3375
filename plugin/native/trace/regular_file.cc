#include "native/trace/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "kernelpoint/descriptors.h"
#include "native/trace/interruption.h"
#include "native/trace/trace.h"

namespace kernelpoint {

namespace {

[[noreturn]] void fail(const std::string& path, const char* what, int reason) {
    throw TraceError(path, 0, std::string(what) + std::strerror(reason));
}

void require_regular(const std::string& path, mode_t mode) {
    if (S_ISREG(mode)) return;
    const char* kind = S_ISDIR(mode)    ? "a folder"
                       : S_ISFIFO(mode) ? "a FIFO"
                       : S_ISSOCK(mode) ? "a socket"
                                        : "a device";
    throw TraceError(path, 0, std::string("expected a file, found ") + kind);
}

}  // namespace

RegularFile::RegularFile(const std::string& path) : path_(path) {
    struct stat status{};
    if (stat(path.c_str(), &status) == 0) require_regular(path, status.st_mode);  // before: opening a device may act
    descriptor_ = kp_above_streams(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // which does not wait
    if (descriptor_ < 0) fail(path, "cannot be opened: ", errno);
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(descriptor_);
        require_regular(path, status.st_mode);
    }
    size_ = static_cast<uint64_t>(status.st_size);
}

RegularFile::~RegularFile() {
    close(descriptor_);
}

size_t RegularFile::read(void* to, size_t size) {
    const size_t got = read_at(at_, to, size);
    at_ += got;
    return got;
}

size_t RegularFile::read_at(uint64_t offset, void* to, size_t size) const {
    interruption_point();
    size_t total = 0;
    while (total < size) {
        const ssize_t got =
            pread(descriptor_, static_cast<char*>(to) + total, size - total, static_cast<off_t>(offset + total));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail(path_, "cannot be read: ", errno);
        if (got == 0) break;
        total += static_cast<size_t>(got);
    }
    return total;
}

}  // namespace kernelpoint
