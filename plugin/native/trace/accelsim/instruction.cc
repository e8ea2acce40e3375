#include "native/trace/accelsim/instruction.h"

#include <algorithm>
#include <cstring>

#include "native/trace/numbers.h"

namespace kernelpoint {

namespace {

constexpr size_t most_statics = 1 << 16;  // PCs up to 1 MiB; instructions further on are parsed in full each time
constexpr size_t most_addresses = UINT32_MAX - 32;

int count_lanes(uint32_t mask) {
    return __builtin_popcount(mask);
}

// Active lanes form one run (or there are none).
bool is_contiguous(uint32_t mask) {
    if (mask == 0) return true;
    const uint32_t run = mask >> __builtin_ctz(mask);
    return (run & (run + 1)) == 0;
}

// Bytes per lane, from the first suffix that is a number of bits with an optional U before it; 4 where there is none.
// Model: as Accel-Sim does it, because the width that NVBit reports can be wrong; so "LDG.E.S8" has 4 bytes.
uint16_t width_from_opcode(std::string_view text) {
    for (size_t dot = text.find('.'); dot != std::string_view::npos;) {
        const size_t start = dot + 1;
        dot = text.find('.', start);
        std::string_view suffix = text.substr(start, dot == std::string_view::npos ? dot : dot - start);
        if (!suffix.empty() && suffix[0] == 'U') suffix.remove_prefix(1);
        if (suffix.empty() || suffix.size() > 4) continue;
        unsigned bits = 0;
        const bool digits = std::all_of(suffix.begin(), suffix.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (!digits) continue;
        for (const char c : suffix) bits = bits * 10 + static_cast<unsigned>(c - '0');
        return static_cast<uint16_t>(std::max(1u, bits / 8));
    }
    return 4;
}

bool parse_register(const char*& p, Register& result) {
    skip_blanks(p);
    unsigned file = 0;
    if (*p == 'U') ++p, file |= 1;
    if (*p == 'P')
        file |= 2;
    else if (*p != 'R')
        return false;
    ++p;
    uint8_t number = 0;
    if (ends_token(*p) || !parse_decimal(p, number)) return false;
    result = static_cast<Register>(file << 8 | number);
    return true;
}

}  // namespace

InstructionParser::InstructionParser(Lines& lines, const TraceHeader& header)
    : lines_(lines),
      with_cta_(header.launch.tracer_version < 3),
      with_line_number_(header.line_numbers),
      with_immediate_(header.launch.tracer_version >= 5) {}

void InstructionParser::parse(const char* p, const Warp& warp, Cta& cta) {
    if (with_cta_ || with_line_number_) parse_prefix(p, warp, cta);
    uint32_t pc, mask;
    if (!parse_hex(p, pc)) lines_.fail_expected("an instruction that starts with a hexadecimal PC");
    if (!parse_hex(p, mask)) lines_.fail_expected("a hexadecimal mask of 32 lanes after the PC");
    skip_blanks(p);

    Instruction& instruction = cta.instructions.emplace_back();
    const size_t slot = pc >> 4;
    const Static* known = slot < statics_.size() ? &statics_[slot] : nullptr;
    if (known != nullptr && known->size != 0 && known->pc == pc && same_text(p, known->text, known->size) &&
        ends_token(p[known->size])) {
        instruction = known->instruction;
        p += known->size;
    } else {
        const char* begin = p;
        instruction.pc = pc;
        parse_static(p, instruction);
        remember(begin, p, instruction);
    }
    instruction.active_mask = mask;
    instruction.first_address = static_cast<uint32_t>(cta.addresses.size());
    if (instruction.width != 0) parse_addresses(p, instruction, cta.addresses);
    int64_t immediate;
    if (with_immediate_ && !parse_signed(p, immediate)) lines_.fail_expected("a decimal immediate at the end");
    skip_blanks(p);
    if (*p != '\n') lines_.fail_expected("the end of the line after the last operand");
    lines_.consume(p + 1);
}

void InstructionParser::parse_prefix(const char*& p, const Warp& warp, const Cta& cta) {
    if (with_cta_) {
        Dim3 index;
        uint32_t id;
        if (!parse_decimal(p, index.x) || !parse_decimal(p, index.y) || !parse_decimal(p, index.z) ||
            !parse_decimal(p, id) || index.x != cta.index.x || index.y != cta.index.y || index.z != cta.index.z ||
            id != warp.id)
            lines_.fail_expected("an instruction that starts with its CTA and warp, " + std::to_string(cta.index.x) +
                                 " " + std::to_string(cta.index.y) + " " + std::to_string(cta.index.z) + " " +
                                 std::to_string(warp.id) + " (tracer versions below 3)");
    }
    uint32_t line_number;
    if (with_line_number_ && !parse_decimal(p, line_number))
        lines_.fail_expected("an instruction that starts with a source line number (enable lineinfo = 1)");
}

void InstructionParser::parse_static(const char*& p, Instruction& instruction) {
    parse_registers(p, instruction.destinations, instruction.destination_count, std::size(instruction.destinations),
                    "destination");
    skip_blanks(p);
    const char* begin = p;
    while (*p > ' ' && *p < 127) ++p;
    if (p == begin || *begin < 'A' || *begin > 'Z' || !ends_token(*p))
        lines_.fail_expected("an opcode after the destination registers");
    instruction.opcode = intern_opcode({begin, static_cast<size_t>(p - begin)});
    parse_registers(p, instruction.sources, instruction.source_count, std::size(instruction.sources), "source");
    uint16_t traced_width;
    if (!parse_decimal(p, traced_width)) lines_.fail_expected("a decimal memory width after the source registers");
    if (traced_width != 0) instruction.width = widths_[instruction.opcode];
}

void InstructionParser::remember(const char* begin, const char* end, const Instruction& instruction) {
    const size_t slot = instruction.pc >> 4, size = static_cast<size_t>(end - begin);
    if (slot >= most_statics || size > Static::longest) return;
    if (slot >= statics_.size()) statics_.resize(std::max<size_t>({64, slot + 1, 2 * statics_.size()}));
    Static& known = statics_[slot];
    known.pc = instruction.pc;
    known.size = static_cast<uint8_t>(size);
    std::memcpy(known.text, begin, size);
    known.instruction = instruction;
}

void InstructionParser::parse_registers(const char*& p, Register* registers, uint8_t& count, unsigned limit,
                                        const char* kind) {
    if (!parse_decimal(p, count) || count > limit)
        lines_.fail_expected("a number of " + std::string(kind) + " registers, at most " + std::to_string(limit));
    for (unsigned i = 0; i < count; ++i)
        if (!parse_register(p, registers[i]))
            lines_.fail_expected(std::string(kind) + " register " + std::to_string(i + 1) + " of " +
                                 std::to_string(count) + ", R0 to R255");
}

uint32_t InstructionParser::intern_opcode(std::string_view text) {
    const auto [found, is_new] = index_of_opcode_.try_emplace(std::string(text), opcodes_.size());
    if (is_new) {
        opcodes_.push_back(classify_opcode(text));
        widths_.push_back(width_from_opcode(text));
    }
    return found->second;
}

void InstructionParser::parse_addresses(const char*& p, Instruction& instruction, std::vector<uint64_t>& addresses) {
    const auto lanes = static_cast<size_t>(count_lanes(instruction.active_mask));
    const size_t first = addresses.size();
    uint32_t mode;
    if (!parse_decimal(p, mode) || mode > 2)
        lines_.fail_expected(
            "an address mode after the memory width: 0 (list), 1 (base and stride) or 2 (base and "
            "deltas)");
    if (first > most_addresses) lines_.fail("this CTA holds more addresses than can be counted in 32 bits");
    addresses.resize(first + lanes);
    instruction.address_count = static_cast<uint32_t>(lanes);
    uint64_t* lane = addresses.data() + first;
    if (mode == 0) {
        for (size_t i = 0; i < lanes; ++i)
            if (!parse_address(p, lane[i]))
                lines_.fail_expected("hexadecimal address " + std::to_string(i + 1) + " of " + std::to_string(lanes));
        return;
    }
    uint64_t address;
    int64_t step = 0;
    if (!parse_address(p, address)) lines_.fail_expected("a hexadecimal base address");
    if (mode == 1) {
        if (!parse_signed(p, step)) lines_.fail_expected("a decimal stride after the base address");
        // Model: Accel-Sim gives lanes behind a gap address 0; no tracer writes that, so it is damage.
        if (!is_contiguous(instruction.active_mask))
            lines_.fail_expected("a mask without gaps where addresses are given as base and stride");
        for (size_t i = 0; i < lanes; ++i) lane[i] = address + i * static_cast<uint64_t>(step);
        return;
    }
    if (lanes > 0) lane[0] = address;
    for (size_t i = 1; i < lanes; ++i) {
        if (!parse_signed(p, step))
            lines_.fail_expected("decimal delta " + std::to_string(i) + " of " + std::to_string(lanes - 1));
        lane[i] = address += static_cast<uint64_t>(step);
    }
}

}  // namespace kernelpoint
