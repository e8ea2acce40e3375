// A record of MacSim's NVBit traces, version 14.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernelpoint {
namespace macsim {

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

}  // namespace macsim
}  // namespace kernelpoint
