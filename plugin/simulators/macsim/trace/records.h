// The records of one warp's file: gzip, or plain as zlib (and so MacSim) reads it too.
#pragma once

#include <memory>
#include <string>

#include "native/trace/input.h"
#include "simulators/macsim/trace/opcodes.h"

namespace kernelpoint::macsim {

class RecordFile {
public:
    explicit RecordFile(const std::string& path);  // throws TraceError, as all do
    ~RecordFile();
    RecordFile(const RecordFile&) = delete;
    RecordFile& operator=(const RecordFile&) = delete;

    bool next(Record& record);  // false at the end
    // Throws TraceError: the record that `next` gave last is `what_is_wrong`.
    [[noreturn]] void fail(const std::string& what_is_wrong) const;
    uint64_t count() const { return count_; }  // of records given so far

private:
    void fill();
    size_t unpack();  // bytes put into records_, as many as there are, up to a block
    [[noreturn]] void fail_behind(const std::string& what_is_wrong) const;

    const std::string path_;
    RegularFile file_;
    std::unique_ptr<Decoder> decoder_;  // none for a plain file
    std::unique_ptr<char[]> packed_, records_;
    size_t packed_size_ = 0, packed_used_ = 0;  // bytes
    size_t filled_ = 0, used_ = 0;              // bytes of records_
    uint64_t count_ = 0;
    bool file_ended_ = false, ended_ = false;
};

}  // namespace kernelpoint::macsim
