// The files of MacSim's NVBit front end, trace version 14, as its public tracer (gthparch/Macsim_tracer) writes them
// and its simulator reads them. A launch is a folder Kernel<N>: trace.txt (its warps), trace_info.txt (their record
// counts) and one gzip file trace_<warp>.raw of records for each warp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulators/macsim/trace/record.h"

namespace kernelpoint::macsim {

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

}  // namespace kernelpoint::macsim
