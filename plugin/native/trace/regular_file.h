// A file open for reading, which is refused where it is no regular file: opening a FIFO would wait for a writer, and a
// device may act on it or give bytes without end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kernelpoint {

class RegularFile {
public:
    explicit RegularFile(const std::string& path);  // throws TraceError
    ~RegularFile();
    RegularFile(const RegularFile&) = delete;
    RegularFile& operator=(const RegularFile&) = delete;

    uint64_t size() const { return size_; }
    // Reads the next `size` bytes of the file, fewer at its end.
    size_t read(void* to, size_t size);
    void rewind() { at_ = 0; }
    // Reads `size` bytes from `offset` on, fewer at the end; may be called from any thread.
    size_t read_at(uint64_t offset, void* to, size_t size) const;

private:
    const std::string path_;
    int descriptor_ = -1;
    uint64_t size_ = 0, at_ = 0;
};

}  // namespace kernelpoint
