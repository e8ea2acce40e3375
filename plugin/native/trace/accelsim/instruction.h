// Instruction lines:  [x y z warp] [line] PC mask ndst dst.. opcode nsrc src.. width [mode addresses..] [immediate]
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "native/trace/accelsim/header.h"
#include "native/trace/lines.h"
#include "native/trace/trace.h"

namespace kernelpoint {

class InstructionParser {
public:
    InstructionParser(Lines& lines, const TraceHeader& header);

    // Appends the instruction that stands at `p`, the start of the peeked line, and consumes the line.
    void parse(const char* p, const Warp& warp, Cta& cta);
    const std::vector<Opcode>& opcodes() const { return opcodes_; }

private:
    // What a line says between its mask and its addresses hardly ever changes for one PC: it is parsed once and
    // afterwards only compared. This is where the speed comes from.
    struct Static {
        static constexpr size_t longest = 71;
        uint32_t pc = 0;
        uint8_t size = 0;  // of text; 0 while unused
        char text[longest + 8];
        Instruction instruction;
    };

    void parse_prefix(const char*& p, const Warp& warp, const Cta& cta);
    void parse_static(const char*& p, Instruction& instruction);
    void remember(const char* begin, const char* end, const Instruction& instruction);
    void parse_registers(const char*& p, Register* registers, uint8_t& count, unsigned limit, const char* kind);
    uint32_t intern_opcode(std::string_view text);
    void parse_addresses(const char*& p, Instruction& instruction, std::vector<uint64_t>& addresses);

    Lines& lines_;
    const bool with_cta_, with_line_number_, with_immediate_;
    std::vector<Static> statics_;  // by PC / 16
    std::vector<Opcode> opcodes_;
    std::vector<uint16_t> widths_;  // bytes per lane, by opcode
    std::unordered_map<std::string, uint32_t> index_of_opcode_;
};

}  // namespace kernelpoint
