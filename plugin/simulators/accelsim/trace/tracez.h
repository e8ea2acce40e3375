// Accel-Sim 2.0's compressed traces: header text and a NUL, a zstd dictionary, zstd frames of instruction lines (a
// warp's are its sub-chunks), an index of all CTAs and warps, and the index's offset. Numbers are little-endian.
//
// Nothing in the file is believed before it is checked: offsets and sizes against the file's size, counts against the
// grid, the block and the bytes that are left, a frame's content against its index. Warps' data must lie in the order
// of the index without overlap, as the only known writer leaves them, so that a small file cannot stand for endless
// text.
#pragma once

#include <string>
#include <vector>

#include "native/trace/input.h"
#include "native/trace/regular_file.h"
#include "native/trace/trace.h"
#include "native/trace/zstd.h"
#include "simulators/accelsim/trace/header.h"

namespace kernelpoint {

bool is_tracez(const std::string& path);  // by its name, as Accel-Sim does

// Header, dictionary and where things lie. Reads at any place, from several threads.
class TracezFile {
public:
    explicit TracezFile(const std::string& path);  // throws TraceError
    TracezFile(const TracezFile&) = delete;
    TracezFile& operator=(const TracezFile&) = delete;

    void read(uint64_t offset, void* to, size_t size) const;
    [[noreturn]] void fail(const std::string& what_is_wrong) const { throw TraceError(path, 0, what_is_wrong); }

    const std::string path;
    TraceHeader header;
    std::string dictionary;
    uint64_t data_begin = 0, index_begin = 0, index_end = 0;

private:
    void open();

    const RegularFile file_;
};

struct TracezWarp {
    uint32_t instructions = 0;
    uint64_t offset = 0;               // of its data
    std::vector<uint32_t> sub_chunks;  // instructions of each
};

struct TracezCta {
    Dim3 index{0, 0, 0};
    Cluster cluster;
    std::vector<TracezWarp> warps;  // a warp's place is its number
};

// The index, CTA by CTA: memory is bounded by one CTA.
class TracezIndex {
public:
    explicit TracezIndex(const TracezFile& file);

    uint64_t cta_count() const { return count_; }
    // False behind the last CTA. Throws TraceError.
    bool next(TracezCta& cta);

private:
    uint32_t read_u32();
    uint64_t read_u64();
    Dim3 read_dim3();
    void read_warp(TracezWarp& warp);
    [[noreturn]] void fail(const std::string& what_is_wrong) const;

    const TracezFile& file_;
    std::vector<unsigned char> buffer_;
    uint64_t at_ = 0, buffered_from_ = 0;
    uint64_t count_ = 0, next_ = 0;  // CTAs
    uint64_t data_free_from_ = 0;    // the next warp's data lies here or behind
    size_t warp_ = 0;                // being read, for messages
};

// Decompresses one sub-chunk at a time.
class TracezFrames : public ByteSource {
public:
    explicit TracezFrames(const TracezFile& file);
    ~TracezFrames() override;
    TracezFrames(const TracezFrames&) = delete;
    TracezFrames& operator=(const TracezFrames&) = delete;

    // The bytes at `offset`, at most `longest_view`, which must lie before the index; they stay until the next call of
    // this or another method. Reads ahead, as warps lie one behind the other.
    static constexpr size_t longest_view = 128 << 10;
    const char* view(uint64_t offset, size_t size);
    // The sub-chunk of `lines` lines whose size stands at `offset`; returns where the next one stands.
    uint64_t open(uint64_t offset, uint32_t lines);
    size_t read(char* to, size_t size) override;

private:
    const TracezFile& file_;
    const Zstd* zstd_ = nullptr;
    void *context_ = nullptr, *dictionary_ = nullptr;
    std::vector<char> window_;
    uint64_t window_from_ = 0;
    size_t window_size_ = 0;
    const char* packed_ = nullptr;
    size_t packed_begin_ = 0, packed_end_ = 0;
    uint64_t file_at_ = 0, file_end_ = 0;  // of the frame's bytes not yet read
    uint64_t content_left_ = 0;
    bool complete_ = true;
};

}  // namespace kernelpoint
