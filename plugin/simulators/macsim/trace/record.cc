#include "simulators/macsim/trace/record.h"

#include <algorithm>
#include <cstring>

#include "native/trace/interruption.h"
#include "native/trace/trace.h"

namespace kernelpoint::macsim {

namespace {
constexpr size_t packed_block = 16 << 10;
constexpr size_t record_block = 1024 * sizeof(Record);
}  // namespace

RecordFile::RecordFile(const std::string& path)
    : path_(path), file_(path), packed_(new char[packed_block]), records_(new char[record_block]) {
    packed_size_ = file_.read(packed_.get(), packed_block);
    file_ended_ = packed_size_ < packed_block;
    if (recognise_compression(packed_.get(), packed_size_) != Compression::gzip) return;
    try {
        decoder_ = make_decoder(Compression::gzip);
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

size_t RecordFile::unpack() {
    size_t filled = 0;
    while (filled < record_block) {
        if (packed_used_ == packed_size_ && !file_ended_) {
            packed_used_ = 0;
            packed_size_ = file_.read(packed_.get(), packed_block);
            file_ended_ = packed_size_ < packed_block;
        }
        const char* packed = packed_.get() + packed_used_;
        const size_t available = packed_size_ - packed_used_;
        char* records = records_.get() + filled;
        size_t used = std::min(available, record_block - filled), got = used;
        if (decoder_ == nullptr) {
            std::memcpy(records, packed, used);
        } else {
            try {
                got = decoder_->decode(packed, available, used, records, record_block - filled, file_ended_);
            } catch (const std::runtime_error& error) {
                fail_behind(error.what());
            }
        }
        packed_used_ += used;
        filled += got;
        if (got == 0 && used == 0 && file_ended_) break;
    }
    return filled;
}

void RecordFile::fill() {
    interruption_point();
    filled_ = used_ = 0;
    const size_t got = unpack();
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
