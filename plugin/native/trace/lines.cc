#include "native/trace/lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kernelpoint/descriptors.h"
#include "kernelpoint/file_names.hpp"
#include "native/trace/interruption.h"
#include "native/trace/numbers.h"
#include "native/trace/trace.h"

namespace kernelpoint {

namespace {

constexpr size_t block_size = 256 << 10;  // fits the second-level cache
constexpr size_t longest_line = 1 << 20;  // a memory instruction of 32 listed addresses takes about 700 bytes
constexpr size_t packed_size = 128 << 10;

[[noreturn]] void fail(const std::string& path, const char* what, int reason) {
    throw TraceError(path, 0, std::string(what) + std::strerror(reason));
}

void require_regular(const std::string& path, mode_t mode) {
    if (S_ISREG(mode)) return;
    const char* kind = S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : "a device";
    throw TraceError(path, 0, std::string("expected a file, found ") + kind);
}

}  // namespace

RegularFile::RegularFile(const std::string& path) : path_(path) {
    struct stat status{};
    if (stat(path.c_str(), &status) == 0) require_regular(path, status.st_mode);            // before: opening a device may act
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

Input::Input(const std::string& path, std::shared_ptr<RegularFile> file) : path_(path), file_(std::move(file)) {
    file_->rewind();
    capacity_ = std::min<size_t>(block_size, file_->size() + 64);
    buffer_.reset(new char[capacity_ + 1 + padding]);
    filled_ = read_file(buffer_.get(), capacity_);
    const Compression compression = recognise_compression(buffer_.get(), filled_);
    if (compression == Compression::none) return;
    try {
        decoder_ = make_decoder(compression);
    } catch (const std::runtime_error& error) {
        throw TraceError(path, 0, error.what());
    }
    packed_.reset(new char[std::max(packed_size, filled_)]);
    std::memcpy(packed_.get(), buffer_.get(), filled_);
    packed_end_ = filled_;
    filled_ = 0;
    capacity_ = block_size;
    buffer_.reset(new char[capacity_ + 1 + padding]);
}

Input::Input(const std::string& path, ByteSource& source) : path_(path), source_(&source), capacity_(block_size) {
    buffer_.reset(new char[capacity_ + 1 + padding]);
}

void Input::restart() {
    filled_ = handed_out_ = 0;
    ended_ = false;
}

size_t Input::read_file(char* to, size_t size) {
    if (file_ended_) return 0;
    const size_t got = file_->read(to, size);
    file_ended_ = got < size;
    return got;
}

size_t Input::read_decoded(char* to, size_t size) {
    size_t total = 0;
    while (total < size) {
        interruption_point();
        if (packed_begin_ == packed_end_ && !file_ended_) {
            packed_begin_ = 0;
            packed_end_ = read_file(packed_.get(), packed_size);
        }
        size_t used = 0;
        const size_t got = decoder_->decode(packed_.get() + packed_begin_, packed_end_ - packed_begin_, used, to + total,
                                            size - total, file_ended_);
        packed_begin_ += used;
        total += got;
        if (got == 0 && used == 0 && file_ended_) break;
    }
    return total;
}

void Input::make_room(uint64_t line) {
    const size_t kept = filled_ - handed_out_;
    if (kept < capacity_) {
        std::memmove(buffer_.get(), buffer_.get() + handed_out_, kept);
    } else {
        if (kept >= longest_line)
            throw TraceError(path_, line + 1, "expected a line of at most 1048576 bytes, found a longer one");
        capacity_ = std::max(block_size, 2 * kept);
        std::unique_ptr<char[]> larger(new char[capacity_ + 1 + padding]);
        std::memcpy(larger.get(), buffer_.get() + handed_out_, kept);
        buffer_ = std::move(larger);
    }
    filled_ = kept;
    handed_out_ = 0;
}

bool Input::next_block(const char*& begin, const char*& end, uint64_t line) {
    while (!ended_) {
        make_room(line);
        const size_t wanted = capacity_ - filled_;
        size_t got = 0;
        try {
            char* to = buffer_.get() + filled_;
            got = source_ != nullptr ? source_->read(to, wanted) : decoder_ ? read_decoded(to, wanted) : read_file(to, wanted);
        } catch (const TraceError&) {
            throw;
        } catch (const std::runtime_error& error) {
            throw TraceError(
                path_, line,
                (line == 0 ? "cannot be decompressed: " : "the lines after this one: ") + std::string(error.what()));
        }
        filled_ += got;
        if (got < wanted) {
            ended_ = true;
            if (filled_ > 0 && buffer_[filled_ - 1] != '\n') buffer_[filled_++] = '\n';
        }
        const void* last = filled_ == 0 ? nullptr : memrchr(buffer_.get(), '\n', filled_);
        if (last == nullptr) continue;
        handed_out_ = static_cast<size_t>(static_cast<const char*>(last) - buffer_.get()) + 1;
        std::memset(buffer_.get() + filled_, 0, padding);
        begin = buffer_.get();
        end = begin + handed_out_;
        return true;
    }
    return false;
}

TraceError::TraceError(std::string file_, uint64_t line_, std::string what_is_wrong_)
    : std::runtime_error(file_ + (line_ == 0 ? std::string() : ":" + std::to_string(line_)) + ": " + what_is_wrong_),
      file(std::move(file_)),
      line(line_),
      what_is_wrong(std::move(what_is_wrong_)) {}

std::string_view Lines::text() {
    const char* begin = peek();
    if (begin == nullptr) return {};
    const char* end = static_cast<const char*>(std::memchr(begin, '\n', static_cast<size_t>(end_ - begin)));
    while (begin < end && is_blank(*begin)) ++begin;
    while (end > begin && is_blank(end[-1])) --end;
    return {begin, static_cast<size_t>(end - begin)};
}

void Lines::consume_text() {
    const char* begin = peek();
    consume(static_cast<const char*>(std::memchr(begin, '\n', static_cast<size_t>(end_ - begin))) + 1);
}

void Lines::fail(const std::string& what_is_wrong) const {
    throw TraceError(path_, number_ + 1, what_is_wrong);
}

void Lines::require_name(const std::string& name) const {
    const std::string problem = name_problem(name);
    if (!problem.empty()) fail(problem);
}

void Lines::fail_expected(const std::string& expected) {
    if (peek() == nullptr) throw TraceError(path_, number_, "expected " + expected + ", found the end of the file");
    std::string shown;
    for (const char c : text().substr(0, 80)) shown += c >= ' ' && c < 127 ? c : '?';
    if (text().size() > 80) shown += "...";
    fail("expected " + expected + ", found '" + shown + "'");
}

}  // namespace kernelpoint
