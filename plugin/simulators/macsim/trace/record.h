// The files of MacSim's NVBit front end, trace version 14, as its public tracer (gthparch/Macsim_tracer) writes them
// and its simulator reads them. A launch is a folder Kernel<N>: trace.txt (its warps), trace_info.txt (their record
// counts) and one file trace_<warp>.raw of records for each warp: gzip, or plain as zlib (and so MacSim) reads it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "native/trace/lines.h"

namespace kernelpoint::macsim {

// One warp instruction, or one further sector of the memory access before it; little-endian.
struct Record {
    uint8_t opcode = 0;
    uint8_t is_fp = 0;  // floating point; on a copy of the access before it: a further sector ("child")
    uint8_t is_load = 0;
    uint8_t control_flow = 0;  // enum ControlFlow
    uint8_t source_count = 0, destination_count = 0;
    uint16_t sources[4] = {}, destinations[4] = {};
    uint8_t size = 16;  // of the instruction, bytes
    uint8_t unused_1 = 0;
    uint32_t active_mask = 0;
    uint32_t taken_mask = 0;  // always 0
    uint64_t pc = 0;
    uint64_t target = 0;   // of a branch; else the next PC
    uint64_t address = 0;  // of a sector
    uint8_t access_size = 0;
    uint8_t unused_2 = 0;
    uint16_t barrier_threads = 0;
    uint8_t space = 0;  // enum Space
    uint8_t cache_level = 0, cache_operator = 0;
    uint8_t unused_3 = 0;
};
static_assert(sizeof(Record) == 64 && offsetof(Record, active_mask) == 24 && offsetof(Record, space) == 60,
              "records are read and written as they lie in memory");

enum ControlFlow : uint8_t { not_control_flow = 0, jump = 1, branch = 2, ret = 7 };
enum Space : uint8_t { none = 0, local = 1, generic = 2, global = 3, shared = 4, constant = 5, texture = 8 };

constexpr uint64_t sector_size = 128;
constexpr uint32_t warps_per_cta_id = 65536;  // a warp's id is its CTA's number times this, plus its place there
constexpr uint64_t most_ctas = 32768;         // ids are read as 32-bit signed numbers

constexpr uint8_t opcode_count = 163;  // that MacSim's simulator knows; newer tracers write more of them
constexpr uint8_t newest_opcode_count = 206;
constexpr uint8_t unknown_opcode = 255;  // what newer tracers write for all others
constexpr uint8_t no_registers = 255;    // a count that stands for none

// Name of an opcode number, "LDG" for 73; empty if there is none.
std::string_view opcode_name(uint8_t number);

// Number of an opcode in MacSim, 73 for "LDG"; `exact` is false if it is another opcode's. Model: newer opcodes become
// the nearest of the 163 in unit and memory space (LDGSTS is LDG, HGMMA is HMMA, VIADD is IADD); where there is none,
// NOP.
uint8_t opcode_number(std::string_view base, bool& exact);

bool is_floating_point(uint8_t number);  // as MacSim divides its uop tables

// The records of one warp's file.
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
