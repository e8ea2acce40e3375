// Reading the SASS trace of one kernel launch, CTA by CTA, in any of the formats. Used by the native extension
// (hashing, graphs) and by the embedded host. Memory is bounded by one CTA, never by the file.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "native/trace/opcode.h"

namespace kernelpoint {

// A trace that cannot be used. The message has the file, the line (1-based, 0: no line) and what was expected there.
class TraceError : public std::runtime_error {
public:
    TraceError(std::string file, uint64_t line, std::string what_is_wrong);
    const std::string file;
    const uint64_t line;
    const std::string what_is_wrong;
};

struct Dim3 {
    uint32_t x = 1, y = 1, z = 1;
    uint64_t count() const { return uint64_t{x} * y * z; }
};

struct LaunchHeader {
    std::string kernel_name;
    uint64_t kernel_id = 0;  // the tracer's number; a launch index is its position in the list
    Dim3 grid, block;
    uint32_t shared_memory = 0;  // bytes per CTA
    uint32_t registers = 0;      // per thread
    uint32_t binary_version = 0;
    int64_t stream_id = 0;  // old tracers print part of a pointer, which may be negative
    uint64_t shared_base = 0, local_base = 0;
    std::string nvbit_version;
    uint32_t tracer_version = 0;  // 0 where the header has none: tracers before version 3

    uint64_t warps_per_cta() const { return (block.count() + 31) / 32; }
};

// A register operand: number in the low byte, file (0 R, 1 UR, 2 P, 3 UP) in the high byte.
using Register = uint16_t;

struct Instruction {
    uint32_t pc = 0;           // offset within the kernel
    uint32_t active_mask = 0;  // bit per lane
    uint32_t opcode = 0;       // index into TraceReader::opcodes()
    uint16_t width = 0;        // bytes per lane of a memory access, 0 for none
    uint8_t destination_count = 0, source_count = 0;
    Register destinations[2] = {};
    Register sources[6] = {};
    uint32_t first_address = 0;  // range in Cta::addresses, one per active lane in lane order
    uint32_t address_count = 0;  // of a bulk copy: any number, at most most_transfers
};

// Of one bulk copy: addresses, and bytes that they stand for. Shared memory, where most copies end, has 227 KiB.
constexpr uint32_t most_transfers = 1 << 14, most_transferred = 1 << 20;

// Facts about a bulk copy (TMA: Opcode::is_bulk_copy) that a trace states besides its addresses.
struct BulkCopy {
    uint32_t instruction = 0;               // index into Cta::instructions
    uint32_t barrier = 0;                   // address in shared memory of the mbarrier that counts the bytes
    uint64_t bytes = 0, bytes_outside = 0;  // all, and those of them outside the tensor's bounds
    uint16_t multicast = 0;                 // bit per CTA of the cluster that receives it; 0: this CTA alone
};

// Values of an instruction's register operands: destinations, then sources, with one value or 32 each.
struct OperandValues {
    uint32_t instruction = 0;  // index into Cta::instructions
    uint32_t first = 0;        // in Cta::values
    uint16_t per_lane = 0;     // bit per operand, destinations first: it has 32 values
};

struct Warp {
    uint32_t id = 0;                                        // within its CTA
    uint32_t first_instruction = 0, instruction_count = 0;  // range in Cta::instructions
    uint32_t unread = 0;                                    // the last ones, which the simulator of these traces leaves out
};

// Place of a CTA in its thread block cluster (tracer version 6, compute capability 9.0 on); otherwise zeros.
struct Cluster {
    Dim3 index{0, 0, 0};  // of the cluster in the grid
    Dim3 cta{0, 0, 0};    // of the CTA in its cluster
    uint32_t rank = 0;    // of the CTA in its cluster
};

// One CTA of a trace; its buffers are reused for the next one.
struct Cta {
    Dim3 index{0, 0, 0};
    Cluster cluster;
    std::vector<Warp> warps;
    std::vector<Instruction> instructions;
    std::vector<uint64_t> addresses;
    std::vector<BulkCopy> bulk_copies;          // in the order of their instructions
    std::vector<OperandValues> operand_values;  // likewise; empty unless the reader keeps values and the trace has them
    std::vector<uint64_t> values;

    void clear();
};

constexpr uint64_t most_instructions = uint64_t{1} << 31;  // of one CTA

// Reader of the CTAs of one launch, with one implementation for each kind of file.
class TraceReader {
public:
    virtual ~TraceReader() = default;
    virtual const LaunchHeader& header() const = 0;
    // Texts of all opcodes met so far, each once; the list grows while CTAs are read.
    virtual const std::vector<Opcode>& opcodes() const = 0;
    // Fills `cta` with the next CTA of the file; false at the end. Throws TraceError: a CTA is either whole or refused.
    virtual bool next(Cta& cta) = 0;
    // Number of instructions so far whose STORE_DATA fields, written by one fork's tracer, were left out.
    virtual uint64_t store_data_left_out() const { return 0; }
};

class RegularFile;

// Opens a trace in the format that recognises its path and reads the header; throws TraceError. Operand values are
// always checked, and kept only on request, because there may be 20 times as many as addresses. `file`: the trace,
// where it is one text that is open.
std::unique_ptr<TraceReader> open_trace(const std::string& path, bool keep_values = false,
                                        std::shared_ptr<RegularFile> file = nullptr);

}  // namespace kernelpoint
