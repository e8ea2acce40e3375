#include "simulators/accelsim/trace/instruction.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "native/trace/numbers.h"

namespace kernelpoint {

namespace {

constexpr uint32_t newest_tracer = 6;

// One "-key = value" line; the value can be parsed as it is followed by blanks and a line feed.
struct Field {
    std::string_view key, value;
    bool ends_behind(const char* p) const {
        skip_blanks(p);
        return p >= value.data() + value.size();
    }
};

inline bool parse_number(const char*& p, int64_t& number) {
    return parse_signed(p, number);
}
template <typename Number>
bool parse_number(const char*& p, Number& number) {
    return parse_decimal(p, number);
}

template <typename Number>
void read_number(Lines& lines, const Field& field, Number& number) {
    const char* p = field.value.data();
    if (!parse_number(p, number) || !field.ends_behind(p))
        lines.fail_expected("'-" + std::string(field.key) + " = ' and a decimal number that fits " +
                            std::to_string(8 * sizeof(Number)) + " bits");
}

void read_base(Lines& lines, const Field& field, uint64_t& address) {
    const char* p = field.value.data();
    if (!parse_address(p, address) || !field.ends_behind(p))
        lines.fail_expected("'-" + std::string(field.key) + " = ' and a hexadecimal address");
}

// "(x,y,z)", each within the limits of CUDA.
void read_dimensions(Lines& lines, const Field& field, Dim3& dimensions, const Dim3& limit, uint64_t count_limit) {
    std::string spaced(field.value);
    bool well_formed = spaced.size() >= 2 && spaced.front() == '(' && spaced.back() == ')';
    for (char& c : spaced)
        if (c == '(' || c == ',' || c == ')') c = ' ';
    spaced += '\n';
    const char* p = spaced.c_str();
    well_formed =
        well_formed && parse_decimal(p, dimensions.x) && parse_decimal(p, dimensions.y) && parse_decimal(p, dimensions.z);
    skip_blanks(p);
    const bool fits = dimensions.x >= 1 && dimensions.y >= 1 && dimensions.z >= 1 && dimensions.x <= limit.x &&
                      dimensions.y <= limit.y && dimensions.z <= limit.z && dimensions.count() <= count_limit;
    if (!well_formed || *p != '\n' || !fits)
        lines.fail_expected("'-" + std::string(field.key) + " = (x,y,z)' with each at least 1 and at most (" +
                            std::to_string(limit.x) + "," + std::to_string(limit.y) + "," + std::to_string(limit.z) + ")" +
                            (count_limit == 1024 ? ", 1024 threads in all" : ""));
}

// True if a text is UTF-8 without control characters.
bool is_printable(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = [&](size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
        const unsigned first = byte(i);
        if (first < ' ' || first == 0x7f) return false;
        if (first < 0x80) continue;
        const size_t more = first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first < 0xf5 ? 3 : 0;
        const bool is_control = first == 0xc2 && byte(i + 1) < 0xa0;
        const bool is_long = (first == 0xe0 && byte(i + 1) < 0xa0) || (first == 0xf0 && byte(i + 1) < 0x90);
        const bool is_none = (first == 0xed && byte(i + 1) > 0x9f) || (first == 0xf4 && byte(i + 1) > 0x8f);
        if (first < 0xc2 || more == 0 || is_control || is_long || is_none) return false;
        for (size_t next = 1; next <= more; ++next)
            if ((byte(i + next) & 0xc0) != 0x80) return false;
        i += more;
    }
    return true;
}

// UTF-8 without control characters; anything else is damage and could not be shown.
void read_text(Lines& lines, const Field& field, std::string& text) {
    if (!is_printable(field.value)) lines.fail_expected("'-" + std::string(field.key) + " = ' and printable text in UTF-8");
    text = field.value;
}

bool split_field(std::string_view line, Field& field) {
    const size_t equals = line.find('=');
    if (line.empty() || line[0] != '-' || equals == std::string_view::npos) return false;
    field.key = line.substr(1, equals - 1);
    while (!field.key.empty() && is_blank(field.key.back())) field.key.remove_suffix(1);
    field.value = line.substr(equals + 1);
    while (!field.value.empty() && is_blank(field.value.front())) field.value.remove_prefix(1);
    return true;
}

void read_tracer_version(Lines& lines, const Field& field, uint32_t& version) {
    read_number(lines, field, version);
    if (version < 1 || version > newest_tracer)
        lines.fail("accelsim tracer version " + std::to_string(version) + " is not known; known are versions 1 to 6");
}

// Bit of each field that must be there; 0 for the others.
enum : unsigned { name = 1, id = 2, grid = 4, block = 8, shmem = 16, nregs = 32, binary = 64 };
struct Required {
    unsigned bit;
    const char* key;
};
constexpr Required required_fields[] = {
    {name, "kernel name"}, {id, "kernel id"}, {grid, "grid dim"},         {block, "block dim"},
    {shmem, "shmem"},      {nregs, "nregs"},  {binary, "binary version"},
};

unsigned read_field(Lines& lines, const Field& field, TraceHeader& header) {
    LaunchHeader& launch = header.launch;
    const std::string_view key = field.key;
    if (key == "kernel name") return read_text(lines, field, launch.kernel_name), name;
    if (key == "kernel id") return read_number(lines, field, launch.kernel_id), id;
    if (key == "grid dim") return read_dimensions(lines, field, launch.grid, {0x7fffffff, 65535, 65535}, UINT64_MAX), grid;
    if (key == "block dim") return read_dimensions(lines, field, launch.block, {1024, 1024, 64}, 1024), block;
    if (key == "shmem") return read_number(lines, field, launch.shared_memory), shmem;
    if (key == "nregs") return read_number(lines, field, launch.registers), nregs;
    if (key == "binary version") return read_number(lines, field, launch.binary_version), binary;
    if (key == "accelsim tracer version") return read_tracer_version(lines, field, launch.tracer_version), 0;
    if (key == "cuda stream id") return read_number(lines, field, launch.stream_id), 0;
    if (key == "shmem base_addr") return read_base(lines, field, launch.shared_base), 0;
    if (key == "local mem base_addr") return read_base(lines, field, launch.local_base), 0;
    if (key == "nvbit version") return read_text(lines, field, launch.nvbit_version), 0;
    if (key == "enable lineinfo") {
        uint32_t enabled = 0;
        read_number(lines, field, enabled);
        header.line_numbers = enabled != 0;
    }
    return 0;  // other fields say nothing that a reader needs
}

}  // namespace

// A real header has some 20 lines. The bound keeps a small packed file of blank lines from being read for seconds.
constexpr uint64_t most_header_lines = 200;

TraceHeader read_header_lines(Lines& lines) {
    TraceHeader header;
    unsigned seen = 0;
    if (lines.peek() == nullptr) throw TraceError(lines.path(), 0, "expected a trace, found an empty file");
    for (;; lines.consume_text()) {
        if (lines.peek() == nullptr || lines.number() > most_header_lines)
            lines.fail_expected("the header to end with a '#' line, within " + std::to_string(most_header_lines) + " lines");
        const std::string_view line = lines.text();
        if (line.empty()) continue;
        if (line[0] == '#') break;
        Field field;
        if (!split_field(line, field)) {
            // A link may lead to any file of the user, so a file that is no trace is not quoted.
            if (seen == 0) lines.fail("expected a header line '-key = value'; this file is no trace");
            lines.fail_expected("a header line '-key = value'");
        }
        const unsigned bit = read_field(lines, field, header);
        if ((seen & bit) != 0) lines.fail("the header line '-" + std::string(field.key) + " = ' stands there twice");
        seen |= bit;
    }
    for (const Required& field : required_fields)
        if ((seen & field.bit) == 0)
            lines.fail_expected(std::string("the header line '-") + field.key + " = ' before the first '#' line");
    while (lines.peek() != nullptr && lines.text() != "#BEGIN_TB") {
        if (lines.number() > most_header_lines)
            lines.fail_expected("'#BEGIN_TB' within " + std::to_string(most_header_lines) + " lines");
        const std::string_view line = lines.text();
        if (!line.empty() && line[0] >= '0' && line[0] <= '9')
            lines.fail(
                "this trace is not post-processed: its instructions stand outside '#BEGIN_TB'. Run Accel-Sim's "
                "post-traces-processing on its list (or folder), and use the kernelslist.g that it writes");
        if (!line.empty() && line[0] != '#') lines.fail_expected("'#BEGIN_TB'");
        lines.consume_text();
    }
    return header;
}

namespace {

constexpr size_t most_statics = 1 << 16;  // PCs up to 1 MiB; instructions further on are parsed in full each time

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

// A decimal or hexadecimal number with an optional sign.
bool parse_immediate(const char*& p) {
    skip_blanks(p);
    if (*p == '-') ++p;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) p += 2;
    const char* start = p;
    while (hex_value[static_cast<unsigned char>(*p)] >= 0) ++p;
    return p != start && p - start <= 20 && ends_token(*p);
}

constexpr size_t most_addresses = UINT32_MAX - 32;  // of a CTA; its operand values are as many at most
constexpr unsigned address_bits = 57;               // of the largest virtual address space of a GPU (Hopper)

int count_lanes(uint32_t mask) {
    return __builtin_popcount(mask);
}

// Active lanes form one run (or there are none).
bool is_contiguous(uint32_t mask) {
    if (mask == 0) return true;
    const uint32_t run = mask >> __builtin_ctz(mask);
    return (run & (run + 1)) == 0;
}

void check_addresses(const Lines& lines, const uint64_t* addresses, size_t count) {
    uint64_t bits = 0;
    for (size_t i = 0; i < count; ++i) bits |= addresses[i];
    if (bits >> address_bits != 0)
        lines.fail("this instruction has an address of more than " + std::to_string(address_bits) + " bits, which no GPU has");
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
    check_addresses(lines, addresses.data() + addresses.size() - count, count);
    return count;
}

// Appends an address for each active lane of `instruction`, which stands at `p`, and moves `p` behind them.
void list_addresses(Lines& lines, const char*& p, Instruction& instruction, std::vector<uint64_t>& addresses) {
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

void parse_addresses(Lines& lines, const char*& p, Instruction& instruction, std::vector<uint64_t>& addresses) {
    list_addresses(lines, p, instruction, addresses);
    check_addresses(lines, addresses.data() + instruction.first_address, instruction.address_count);
}

// The same for the last instruction of `cta`, a bulk copy.
// Model: the bytes that one address stands for are the traced width, as Accel-Sim takes it; where that is 0, the bytes
// of the copy shared out over its addresses. A copy that no lane executes moves nothing, whatever the trace lists.
void parse_bulk_copy(Lines& lines, const char*& p, Cta& cta) {
    Instruction& instruction = cta.instructions.back();
    BulkCopy copy;
    uint64_t barrier, multicast = 0;
    uint8_t is_multicast;
    if (!parse_address(p, barrier) || barrier > UINT32_MAX)
        lines.fail_expected("a bulk copy's mbarrier address, hexadecimal in 32 bits, after the memory width");
    if (!parse_decimal(p, is_multicast) || is_multicast > 1) lines.fail_expected("a bulk copy's multicast flag, 0 or 1");
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

}  // namespace

InstructionParser::InstructionParser(Lines& lines, const TraceHeader& header, bool keep_values)
    : lines_(lines),
      with_cta_(header.launch.tracer_version < 3),
      with_line_number_(header.line_numbers),
      with_immediate_(header.launch.tracer_version >= 5),
      with_values_(header.launch.tracer_version >= 6),
      keep_values_(keep_values) {}

void InstructionParser::parse(const char* p, const Warp& warp, Cta& cta) {
    if (with_cta_ || with_line_number_) parse_prefix(p, warp, cta);
    uint32_t pc, mask;
    if (!parse_hex(p, pc)) lines_.fail_expected("an instruction that starts with a hexadecimal PC");
    if (!parse_hex(p, mask)) lines_.fail_expected("a hexadecimal mask of 32 lanes after the PC");
    skip_blanks(p);

    Instruction& instruction = cta.instructions.emplace_back();
    bool is_bulk_copy;
    const size_t slot = pc >> 4;
    const Static* known = slot < statics_.size() ? &statics_[slot] : nullptr;
    if (known != nullptr && known->size != 0 && known->pc == pc && same_text(p, known->text, known->size) &&
        ends_token(p[known->size])) {
        instruction = known->instruction;
        is_bulk_copy = known->is_bulk_copy;
        p += known->size;
    } else {
        const char* begin = p;
        instruction.pc = pc;
        parse_static(p, instruction);
        is_bulk_copy = forms_[instruction.opcode].is_bulk_copy;
        remember(begin, p, instruction);
    }
    instruction.active_mask = mask;
    instruction.first_address = static_cast<uint32_t>(cta.addresses.size());
    if (is_bulk_copy)
        parse_bulk_copy(lines_, p, cta);
    else if (instruction.width != 0)
        parse_addresses(lines_, p, instruction, cta.addresses);
    if (with_immediate_) parse_end(p, instruction, cta);
    skip_blanks(p);
    if (*p == 'S') leave_out_store_data(p);
    if (*p != '\n') lines_.fail_expected("the end of the line after the last operand");
    lines_.consume(p + 1);
}

void InstructionParser::parse_prefix(const char*& p, const Warp& warp, const Cta& cta) {
    if (with_cta_) {
        Dim3 index;
        uint32_t id;
        if (!parse_decimal(p, index.x) || !parse_decimal(p, index.y) || !parse_decimal(p, index.z) || !parse_decimal(p, id) ||
            index.x != cta.index.x || index.y != cta.index.y || index.z != cta.index.z || id != warp.id)
            lines_.fail_expected("an instruction that starts with its CTA and warp, " + std::to_string(cta.index.x) + " " +
                                 std::to_string(cta.index.y) + " " + std::to_string(cta.index.z) + " " +
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
    const Form& form = forms_[instruction.opcode];
    uint8_t commit;
    if (form.has_commit && !parse_decimal(p, commit))
        lines_.fail_expected("a decimal commit flag after the source registers of a GMMA opcode");
    uint16_t traced_width;
    if (!parse_decimal(p, traced_width)) lines_.fail_expected("a decimal memory width after the source registers");
    instruction.width = traced_width != 0 && !form.is_bulk_copy ? form.width : traced_width;
}

void InstructionParser::remember(const char* begin, const char* end, const Instruction& instruction) {
    const size_t slot = instruction.pc >> 4, size = static_cast<size_t>(end - begin);
    if (slot >= most_statics || size > Static::longest) return;
    if (slot >= statics_.size()) statics_.resize(std::max<size_t>({64, slot + 1, 2 * statics_.size()}));
    Static& known = statics_[slot];
    known.pc = instruction.pc;
    known.size = static_cast<uint8_t>(size);
    known.is_bulk_copy = forms_[instruction.opcode].is_bulk_copy;
    std::memcpy(known.text, begin, size);
    known.instruction = instruction;
}

void InstructionParser::parse_registers(const char*& p, Register* registers, uint8_t& count, unsigned limit, const char* kind) {
    if (!parse_decimal(p, count) || count > limit)
        lines_.fail_expected("a number of " + std::string(kind) + " registers, at most " + std::to_string(limit));
    for (unsigned i = 0; i < count; ++i)
        if (!parse_register(p, registers[i]))
            lines_.fail_expected(std::string(kind) + " register " + std::to_string(i + 1) + " of " + std::to_string(count) +
                                 ", R0 to R255");
}

uint32_t InstructionParser::intern_opcode(std::string_view text) {
    const auto [found, is_new] = index_of_opcode_.try_emplace(std::string(text), opcodes_.size());
    if (is_new) {
        opcodes_.push_back(classify_opcode(text));
        const bool since6 = with_values_;
        forms_.push_back({width_from_opcode(text), since6 && opcodes_.back().is_bulk_copy,
                          since6 && text.find("GMMA") != std::string_view::npos});
    }
    return found->second;
}

// Model: immediates are left out. In version 6 they may be decimal or hexadecimal: Accel-Sim reads them in the base of
// whatever stood before.
void InstructionParser::parse_end(const char*& p, const Instruction& instruction, Cta& cta) {
    if (!with_values_) {
        int64_t immediate;
        if (!parse_signed(p, immediate)) lines_.fail_expected("a decimal immediate at the end");
        return;
    }
    if (!parse_immediate(p)) lines_.fail_expected("an immediate after the last operand");
    skip_blanks(p);
    if (*p != 'N' && *p != 'V' && !parse_immediate(p))
        lines_.fail_expected("a second immediate, 'NoVal' or 'Val' after the immediate");
    skip_blanks(p);
    if (same_text(p, "NoVal", 5) && ends_token(p[5])) {
        p += 5;
    } else if (same_text(p, "Val", 3) && ends_token(p[3])) {
        p += 3;
        parse_values(p, instruction, cta);
    } else {
        lines_.fail_expected("'NoVal' or 'Val' after the immediates");
    }
}

void InstructionParser::parse_values(const char*& p, const Instruction& instruction, Cta& cta) {
    const unsigned operands = instruction.destination_count + instruction.source_count;
    const size_t first = cta.values.size();
    if (first > most_addresses - 8 * 32) lines_.fail("this CTA holds more operand values than can be counted in 32 bits");
    OperandValues entry{static_cast<uint32_t>(cta.instructions.size() - 1), static_cast<uint32_t>(first), 0};
    for (unsigned operand = 0; operand < operands; ++operand) {
        const auto which = [&] { return " of operand " + std::to_string(operand + 1) + " of " + std::to_string(operands); };
        unsigned count;
        if (!parse_decimal(p, count) || (count != 1 && count != 32))
            lines_.fail_expected("the number of values" + which() + ", 1 or 32");
        if (count == 32) entry.per_lane = static_cast<uint16_t>(entry.per_lane | 1u << operand);
        for (unsigned i = 0; i < count; ++i) {
            uint64_t value;
            if (!parse_address(p, value)) lines_.fail_expected("hexadecimal value " + std::to_string(i + 1) + which());
            if (keep_values_) cta.values.push_back(value);
        }
    }
    if (keep_values_) cta.operand_values.push_back(entry);
}

// 'STORE_DATA <type> <registers> REG0:T0:<value> ..', behind the immediate, in traces of a fork's tracer. Model: what
// is stored matters neither to streams nor to simulators, which read over it too.
void InstructionParser::leave_out_store_data(const char*& p) {
    if (!same_text(p, "STORE_DATA", 10) || !ends_token(p[10])) return;
    while (*p != '\n') {
        if (static_cast<unsigned char>(*p) < ' ' && !is_blank(*p)) lines_.fail_expected("printable STORE_DATA fields");
        ++p;
    }
    ++store_data_left_out_;
}

}  // namespace kernelpoint
