#include "simulators/macsim/trace/records.h"

#include <algorithm>
#include <cstring>

#include "native/trace/interruption.h"
#include "native/trace/trace.h"
#include "native/trace/zlib.h"

namespace kernelpoint::macsim {

namespace {
constexpr size_t packed_block = 16 << 10;
constexpr size_t record_block = 1024 * sizeof(Record);
}  // namespace

struct RecordFile::Unpacker {
    Unpacker() : zlib(loaded<Zlib>()) {
        if (zlib.inflate_init(&stream, Zlib::window + Zlib::gzip, Zlib::version, sizeof stream) != Zlib::ok)
            throw std::runtime_error("zlib could not be started (out of memory)");
    }
    ~Unpacker() { zlib.inflate_end(&stream); }
    const Zlib& zlib;
    ZlibStream stream;
    bool member_ended = false;  // a file may hold several, one behind the other
};

RecordFile::RecordFile(const std::string& path)
    : path_(path), file_(path), packed_(new uint8_t[packed_block]), records_(new uint8_t[record_block]) {
    packed_size_ = read_packed();
    if (packed_size_ < 2 || packed_[0] != 0x1f || packed_[1] != 0x8b) return;
    try {
        unpacker_ = std::make_unique<Unpacker>();
    } catch (const std::runtime_error& error) {
        throw TraceError(path, 0, error.what());
    }
}

RecordFile::~RecordFile() = default;

void RecordFile::fail(const std::string& what_is_wrong) const {
    throw TraceError(path_, 0, "record " + std::to_string(count_) + " (from 1): " + what_is_wrong);
}

void RecordFile::fail_behind(const std::string& what_is_wrong) const {
    throw TraceError(
        path_, 0,
        "behind record " + std::to_string(count_ + (filled_ - used_) / sizeof(Record)) + ": " + what_is_wrong);
}

size_t RecordFile::read_packed() {
    if (file_ended_) return 0;
    const size_t got = file_.read(packed_.get(), packed_block);
    file_ended_ = got < packed_block;
    return got;
}

void RecordFile::copy() {
    const size_t taken = std::min(packed_size_ - packed_used_, record_block - filled_);
    std::memcpy(records_.get() + filled_, packed_.get() + packed_used_, taken);
    packed_used_ += taken;
    filled_ += taken;
}

void RecordFile::inflate() {
    Unpacker& unpacker = *unpacker_;
    if (unpacker.member_ended) {
        unpacker.zlib.inflate_reset(&unpacker.stream);
        unpacker.member_ended = false;
    }
    const size_t available = packed_size_ - packed_used_;
    unpacker.stream.next_in = packed_.get() + packed_used_;
    unpacker.stream.avail_in = static_cast<unsigned>(available);
    unpacker.stream.next_out = records_.get() + filled_;
    unpacker.stream.avail_out = static_cast<unsigned>(record_block - filled_);
    const int status = unpacker.zlib.inflate(&unpacker.stream, Zlib::no_flush);
    packed_used_ += available - unpacker.stream.avail_in;
    filled_ = record_block - unpacker.stream.avail_out;
    unpacker.member_ended = status == Zlib::stream_end;
    if (status != Zlib::ok && status != Zlib::stream_end && status != Zlib::buffer_error)
        fail_behind(std::string("the gzip stream is damaged (") +
                    (unpacker.stream.message != nullptr ? unpacker.stream.message : "no message") + ")");
}

void RecordFile::unpack() {
    while (filled_ < record_block) {
        if (packed_used_ == packed_size_) {
            packed_used_ = 0;
            packed_size_ = read_packed();
        }
        const bool is_packed = unpacker_ != nullptr;
        if (packed_size_ == 0 && is_packed && !unpacker_->member_ended) fail_behind("the gzip stream is truncated");
        if (packed_size_ == 0) return;
        is_packed ? inflate() : copy();
    }
}

void RecordFile::fill() {
    interruption_point();
    filled_ = used_ = 0;
    unpack();
    const size_t got = filled_;
    filled_ = got / sizeof(Record) * sizeof(Record);
    ended_ = got < record_block;
    if (got != filled_)
        fail_behind("expected records of 64 bytes, found " + std::to_string(got - filled_) + " more bytes at the end");
}

bool RecordFile::next(Record& record) {
    if (used_ == filled_) {
        if (ended_) return false;
        fill();
        if (filled_ == 0) return false;
    }
    std::memcpy(&record, records_.get() + used_, sizeof record);
    used_ += sizeof record;
    ++count_;
    return true;
}

}  // namespace kernelpoint::macsim
