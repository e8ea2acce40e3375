// Statistics of operand values: what the value columns of a variable node hold (schema.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "native/trace/trace.h"

namespace kernelpoint::graph {

// Operand values of one warp, as in Cta; instructions are numbered from the warp's first. Empty if the trace has none.
struct WarpValues {
    std::vector<OperandValues> entries;
    std::vector<uint64_t> values;
};

WarpValues values_of_warp(const Cta& cta, const Warp& warp);

// Values of one operand of an executed instruction, one for each lane.
struct Operand {
    const uint64_t* values = nullptr;  // one, or 32 by lane; nullptr: not known
    bool per_lane = false;
    uint32_t lanes = 0;  // mask of the lanes that executed the instruction
};

// Values of operand number `operand` of an instruction; destinations come first.
Operand operand_values(const WarpValues& warp, const OperandValues& entry, unsigned operand, uint32_t lanes);

enum class ValueKind { integer, floating, address };

constexpr size_t kStatisticCount = 8;
using Statistics = std::array<float, kStatisticCount>;  // in the order of VariableColumn

// Computes statistics of an operand over the lanes that executed; false, and nothing written, if no lane did or no
// value is known.
//
// Model: statistics of values v on a scaled logarithmic scale from -2 to 2, so that large and small values count alike:
//   integer   sign(v) log2(1 + |v|) / 32, v signed, of 32 bits, or of 64 where one of the lanes needs more
//   floating  sign(v) log2(1 + 2^16 |v|) / 32, v in single precision; not-a-number counts as 0
//   address   as integer, of v less the smallest v of the lanes, so that the place of a buffer does not matter
// Standard deviation and skewness are those of a population, percentiles are interpolated linearly between order
// statistics, skewness is divided by 4.
bool value_statistics(const Operand& operand, ValueKind kind, Statistics& statistics);

}  // namespace kernelpoint::graph
