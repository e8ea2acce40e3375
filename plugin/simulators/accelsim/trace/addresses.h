// The access of a memory instruction's line: `mode addresses..`, or for a bulk copy (TMA)
// `barrier multicast [mask] bytes outside mode addresses..`. Modes: 0 (list), 1 (base and stride), 2 (base and deltas),
// and of bulk copies 3 (list), 4 (base and deltas).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "native/trace/lines.h"
#include "native/trace/trace.h"

namespace kernelpoint {

constexpr size_t most_addresses = UINT32_MAX - 32;  // of a CTA; its operand values are as many at most

// Appends an address for each active lane of `instruction`, which stands at `p`, and moves `p` behind them.
void parse_addresses(Lines& lines, const char*& p, Instruction& instruction, std::vector<uint64_t>& addresses);

// The same for the last instruction of `cta`, a bulk copy.
void parse_bulk_copy(Lines& lines, const char*& p, Cta& cta);

}  // namespace kernelpoint
