#include "simulators/accelsim/trace/addresses.h"

#include <algorithm>

#include "native/trace/numbers.h"

namespace kernelpoint {

namespace {

int count_lanes(uint32_t mask) {
    return __builtin_popcount(mask);
}

// Active lanes form one run (or there are none).
bool is_contiguous(uint32_t mask) {
    if (mask == 0) return true;
    const uint32_t run = mask >> __builtin_ctz(mask);
    return (run & (run + 1)) == 0;
}

// Appends the addresses one by one: the count is believed only as far as the line goes.
uint32_t parse_transfers(Lines& lines, const char*& p, std::vector<uint64_t>& addresses) {
    uint32_t mode, count;
    uint64_t address = 0;
    if (!parse_decimal(p, mode) || (mode != 3 && mode != 4))
        lines.fail_expected("a bulk copy's address mode: 3 (list) or 4 (base and deltas)");
    if (mode == 4 && !parse_address(p, address)) lines.fail_expected("a hexadecimal base address");
    if (!parse_decimal(p, count) || count > most_transfers)
        lines.fail_expected("a number of addresses, at most " + std::to_string(most_transfers));
    if (addresses.size() > most_addresses - most_transfers)
        lines.fail("this CTA holds more addresses than can be counted in 32 bits");
    for (uint32_t i = 0; i < count; ++i) {
        int64_t step = 0;
        if (mode == 3 && !parse_address(p, address))
            lines.fail_expected("hexadecimal address " + std::to_string(i + 1) + " of " + std::to_string(count));
        if (mode == 4 && i > 0 && !parse_signed(p, step))
            lines.fail_expected("decimal delta " + std::to_string(i) + " of " + std::to_string(count - 1));
        addresses.push_back(address += static_cast<uint64_t>(step));
    }
    return count;
}

}  // namespace

void parse_addresses(Lines& lines, const char*& p, Instruction& instruction, std::vector<uint64_t>& addresses) {
    const auto lanes = static_cast<size_t>(count_lanes(instruction.active_mask));
    const size_t first = addresses.size();
    uint32_t mode;
    if (!parse_decimal(p, mode) || mode > 2)
        lines.fail_expected(
            "an address mode after the memory width: 0 (list), 1 (base and stride) or 2 (base and "
            "deltas)");
    if (first > most_addresses) lines.fail("this CTA holds more addresses than can be counted in 32 bits");
    addresses.resize(first + lanes);
    instruction.address_count = static_cast<uint32_t>(lanes);
    uint64_t* lane = addresses.data() + first;
    if (mode == 0) {
        for (size_t i = 0; i < lanes; ++i)
            if (!parse_address(p, lane[i]))
                lines.fail_expected("hexadecimal address " + std::to_string(i + 1) + " of " + std::to_string(lanes));
        return;
    }
    uint64_t address;
    int64_t step = 0;
    if (!parse_address(p, address)) lines.fail_expected("a hexadecimal base address");
    if (mode == 1) {
        if (!parse_signed(p, step)) lines.fail_expected("a decimal stride after the base address");
        // Model: Accel-Sim gives lanes behind a gap address 0; no tracer writes that, so it is damage.
        if (!is_contiguous(instruction.active_mask))
            lines.fail_expected("a mask without gaps where addresses are given as base and stride");
        for (size_t i = 0; i < lanes; ++i) lane[i] = address + i * static_cast<uint64_t>(step);
        return;
    }
    if (lanes > 0) lane[0] = address;
    for (size_t i = 1; i < lanes; ++i) {
        if (!parse_signed(p, step))
            lines.fail_expected("decimal delta " + std::to_string(i) + " of " + std::to_string(lanes - 1));
        lane[i] = address += static_cast<uint64_t>(step);
    }
}

// Model: the bytes that one address stands for are the traced width, as Accel-Sim takes it; where that is 0, the bytes
// of the copy shared out over its addresses. A copy that no lane executes moves nothing, whatever the trace lists.
void parse_bulk_copy(Lines& lines, const char*& p, Cta& cta) {
    Instruction& instruction = cta.instructions.back();
    BulkCopy copy;
    uint64_t barrier, multicast = 0;
    uint8_t is_multicast;
    if (!parse_address(p, barrier) || barrier > UINT32_MAX)
        lines.fail_expected("a bulk copy's mbarrier address, hexadecimal in 32 bits, after the memory width");
    if (!parse_decimal(p, is_multicast) || is_multicast > 1)
        lines.fail_expected("a bulk copy's multicast flag, 0 or 1");
    if (is_multicast != 0 && (!parse_address(p, multicast) || multicast > UINT16_MAX))
        lines.fail_expected("a hexadecimal mask of 16 CTAs after the multicast flag");
    if (!parse_decimal(p, copy.bytes) || !parse_decimal(p, copy.bytes_outside))
        lines.fail_expected("a bulk copy's bytes, and those of them out of bounds");
    copy.instruction = static_cast<uint32_t>(cta.instructions.size() - 1);
    copy.barrier = static_cast<uint32_t>(barrier);
    copy.multicast = static_cast<uint16_t>(multicast);
    cta.bulk_copies.push_back(copy);
    const uint32_t count = parse_transfers(lines, p, cta.addresses);
    if (instruction.active_mask == 0) {
        cta.addresses.resize(instruction.first_address);
        return;
    }
    instruction.address_count = count;
    if (instruction.width == 0 && count > 0)
        instruction.width = static_cast<uint16_t>(std::clamp<uint64_t>(copy.bytes / count, 1, UINT16_MAX));
    if (uint64_t{instruction.width} * count > most_transferred)
        lines.fail("this bulk copy's " + std::to_string(count) + " addresses of " + std::to_string(instruction.width) +
                   " bytes are more than the 1 MiB that one may move");
}

}  // namespace kernelpoint
