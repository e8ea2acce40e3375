#include "native/trace/input.h"

#include <algorithm>
#include <cstring>

#include "native/trace/interruption.h"
#include "native/trace/trace.h"

namespace kernelpoint {

namespace {
constexpr size_t block_size = 256 << 10;  // fits the second-level cache
constexpr size_t longest_line = 1 << 20;  // a memory instruction of 32 listed addresses takes about 700 bytes
constexpr size_t packed_size = 128 << 10;
}  // namespace

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
        const size_t got = decoder_->decode(packed_.get() + packed_begin_, packed_end_ - packed_begin_, used,
                                            to + total, size - total, file_ended_);
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
            got = source_ != nullptr ? source_->read(to, wanted)
                  : decoder_         ? read_decoded(to, wanted)
                                     : read_file(to, wanted);
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

}  // namespace kernelpoint
