// One reading of a launch: its header, how much it does, and the hash of its address-free stream.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "native/trace/lines.h"
#include "native/trace/stream_hash.h"
#include "native/trace/trace.h"

namespace kernelpoint {

// Work of a launch. Accesses count warp instructions with at least one active lane.
//
// Model: "global memory" means what goes to the L1 cache as data: global, local and texture opcodes, and generic ones
// whose first address lies outside the window of shared memory (16 MiB from shared_base). A sector is 32 aligned bytes;
// the sectors of an access are the different ones its lanes touch.
struct Work {
    uint64_t instructions = 0;         // executed by warps
    uint64_t thread_instructions = 0;  // active lanes summed over them
    uint64_t ctas = 0, warps = 0;
    uint64_t global_accesses = 0, shared_accesses = 0;
    uint64_t sectors = 0;               // of global memory, summed over accesses
    uint64_t bytes = 0;                 // requested from global memory: lanes times width; of a bulk copy, its bytes
    uint64_t unread_instructions = 0;   // of `instructions`, those that the simulator of these traces leaves out
    uint64_t by_unit[unit_count] = {};  // warp instructions by Unit
};

// Model: two launches run the same stream when these agree, in the order of the file:
//  - grid, block, shared memory per CTA, registers per thread;
//  - every CTA's index; every warp's number and its count of instructions;
//  - of every instruction: PC, opcode text, active mask, registers, width;
//  - of every memory access: each active lane's address minus the first active lane's; the first lane's address minus
//    that of the same warp's previous access at the same PC (0 for the first one); and, to global memory, the number of
//    sectors (so alignment counts as far as it changes traffic);
//  - of every bulk copy (TMA): its numbers of addresses, bytes and bytes out of bounds, and the CTAs that receive it;
//  - of a CTA that is not the first of its cluster: its place and rank there.
// Left out: absolute addresses, so equal launches on other buffers agree; distances between warps and between PCs,
// which depend on where buffers lie; kernel name and id, CUDA stream, source lines, immediates, operand values, commit
// flags, mbarriers' addresses, and the versions of tracer and binary.
constexpr uint32_t stream_hash_version = 2;  // raised whenever equal traces would hash differently than before

// Counts of defects that a simulator accepts without a message, although it then simulates another program.
struct Defects {
    uint64_t zero_addresses = 0;    // accesses to global memory whose first lane has an address below 4096, or none
    uint64_t missing_warps = 0;     // of those that the block has
    uint64_t empty_warps = 0;       // that execute nothing
    uint64_t missing_barriers = 0;  // warps that run code behind a barrier which others of their CTA met more often
    uint64_t repeated_ctas = 0;     // as many others are missing
    uint64_t after_exit = 0;        // instructions of lanes that have exited
    uint64_t missing_exits = 0;     // warps that execute something, but no EXIT
};

struct Scan {
    LaunchHeader header;
    StreamHash stream;
    // Model: launches of one stream may differ in operand values, which no simulator of traces sees; they stay one
    // stream. Graphs hold values, so what is made of a graph is known by this hash besides the stream's. Zero where the
    // trace has no values; absolute addresses in registers count.
    StreamHash values;
    Work work;
    Defects defects;
    // Text that was read and not understood: warp instructions of opcodes that are in no table (Unit::other), by opcode
    // text, and instructions whose STORE_DATA fields were left out.
    std::map<std::string, uint64_t> unknown_opcodes;
    uint64_t store_data_left_out = 0;
};

constexpr uint32_t content_version = 2;  // raised whenever equal traces would hash differently than before
constexpr uint64_t no_kernel_id = UINT64_MAX;

// Content of a trace, so that of equal traces only one is parsed: its text without the launch's number and CUDA stream,
// which no reader uses.
struct Content {
    StreamHash hash;
    uint64_t bytes = 0;
    uint64_t kernel_id = no_kernel_id;  // the number that the header gives, which is no part of the content
};

// Tells by its name whether a trace is text that has a content.
bool has_content(const std::string& path);
// Reads the content of a trace; throws TraceError.
Content content_of(const std::string& path, std::shared_ptr<RegularFile> file);

// Throws TraceError. `file`: as in open_trace.
Scan scan_trace(const std::string& path, std::shared_ptr<RegularFile> file = nullptr);

// Result of scanning one launch: its content, where its trace has one; the scan, if the content is new; the reason why
// the trace is refused.
struct ScanResult {
    std::optional<Content> content;
    std::optional<Scan> scan;
    std::string error;
};

// Contents that need no scan. Several threads may add to them at once.
class MetContents {
public:
    bool add(const StreamHash& content);  // false if it was met before

private:
    std::mutex mutex_;
    std::set<std::pair<uint64_t, uint64_t>> met_;
};

// Scans one of the traces of each content that was not met; a file is opened once. `report` gets the number of traces
// that are done, see in_parallel.
std::vector<ScanResult> scan_traces(const std::vector<std::string>& paths, unsigned threads, MetContents& met,
                                    const std::function<void(uint64_t)>& report);

}  // namespace kernelpoint
