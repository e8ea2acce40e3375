// The header lines of a trace.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "native/trace/lines.h"
#include "native/trace/trace.h"

namespace kernelpoint {

struct TraceHeader {
    LaunchHeader launch;
    bool line_numbers = false;  // every instruction line starts with a source line number
};

// Reads all lines before the first CTA's #BEGIN_TB. Throws TraceError.
TraceHeader read_header_lines(Lines& lines);

// Readers of Accel-Sim's two kinds of files: text (text_reader.cc) and compressed (tracez_reader.cc).

bool is_tracez(const std::string& path);  // by its name, as Accel-Sim does

// Open a trace as text, from `file` if it is open, or as .tracez. Throw TraceError.
std::unique_ptr<TraceReader> open_text(const std::string& path, bool keep_values, std::shared_ptr<RegularFile> file);
std::unique_ptr<TraceReader> open_tracez(const std::string& path, bool keep_values);

// Instruction lines:
//   [x y z warp] [line] PC mask ndst dst.. opcode nsrc src.. [commit] width [access] [immediates] [values] [STORE_DATA
//   ..]
// The CTA and warp stand there below tracer version 3, the immediate from version 5 on, and from version 6 on perhaps a
// second one and the operands' values. `commit` follows the sources of GMMA opcodes. The access of a memory
// instruction is `mode addresses..`, of a bulk copy (TMA) `barrier multicast [mask] bytes outside mode addresses..`.
// Modes: 0 (list), 1 (base and stride), 2 (base and deltas), and of bulk copies 3 (list), 4 (base and deltas).

class InstructionParser {
public:
    InstructionParser(Lines& lines, const TraceHeader& header, bool keep_values);

    // Parses the instruction at `p`, the start of the present line, appends it to the CTA, and moves to the next line.
    void parse(const char* p, const Warp& warp, Cta& cta);
    const std::vector<Opcode>& opcodes() const { return opcodes_; }
    uint64_t store_data_left_out() const { return store_data_left_out_; }

private:
    // Parsed part of a line between its mask and its addresses. It hardly ever changes for one PC, so it is parsed
    // once and later only compared; this makes reading fast.
    struct Static {
        static constexpr size_t longest = 71;
        uint32_t pc = 0;
        uint8_t size = 0;  // of text; 0 while unused
        bool is_bulk_copy = false;
        char text[longest + 8];
        Instruction instruction;
    };

    // Peculiarities in the lines of an opcode.
    struct Form {
        uint16_t width;  // bytes per lane of an access
        bool is_bulk_copy, has_commit;
    };

    void parse_prefix(const char*& p, const Warp& warp, const Cta& cta);
    void parse_static(const char*& p, Instruction& instruction);
    void remember(const char* begin, const char* end, const Instruction& instruction);
    void parse_registers(const char*& p, Register* registers, uint8_t& count, unsigned limit, const char* kind);
    uint32_t intern_opcode(std::string_view text);
    void parse_end(const char*& p, const Instruction& instruction, Cta& cta);
    void parse_values(const char*& p, const Instruction& instruction, Cta& cta);
    void leave_out_store_data(const char*& p);

    Lines& lines_;
    const bool with_cta_, with_line_number_, with_immediate_, with_values_, keep_values_;
    uint64_t store_data_left_out_ = 0;
    std::vector<Static> statics_;  // by PC / 16
    std::vector<Opcode> opcodes_;
    std::vector<Form> forms_;  // by opcode
    std::unordered_map<std::string, uint32_t> index_of_opcode_;
};

}  // namespace kernelpoint
