#include "simulators/accelsim/trace/header.h"

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
    well_formed = well_formed && parse_decimal(p, dimensions.x) && parse_decimal(p, dimensions.y) &&
                  parse_decimal(p, dimensions.z);
    skip_blanks(p);
    const bool fits = dimensions.x >= 1 && dimensions.y >= 1 && dimensions.z >= 1 && dimensions.x <= limit.x &&
                      dimensions.y <= limit.y && dimensions.z <= limit.z && dimensions.count() <= count_limit;
    if (!well_formed || *p != '\n' || !fits)
        lines.fail_expected("'-" + std::string(field.key) + " = (x,y,z)' with each at least 1 and at most (" +
                            std::to_string(limit.x) + "," + std::to_string(limit.y) + "," + std::to_string(limit.z) +
                            ")" + (count_limit == 1024 ? ", 1024 threads in all" : ""));
}

// True if a text is UTF-8 without control characters.
bool is_printable(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = [&](size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
        const unsigned first = byte(i);
        if (first < ' ' || first == 0x7f) return false;
        if (first < 0x80) continue;
        const size_t more = first >= 0xc2 && first < 0xe0   ? 1
                            : first >= 0xe0 && first < 0xf0 ? 2
                            : first < 0xf5                  ? 3
                                                            : 0;
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
    if (!is_printable(field.value))
        lines.fail_expected("'-" + std::string(field.key) + " = ' and printable text in UTF-8");
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
    if (key == "grid dim")
        return read_dimensions(lines, field, launch.grid, {0x7fffffff, 65535, 65535}, UINT64_MAX), grid;
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

TraceHeader read_header_lines(Lines& lines) {
    TraceHeader header;
    unsigned seen = 0;
    if (lines.peek() == nullptr) throw TraceError(lines.path(), 0, "expected a trace, found an empty file");
    for (;; lines.consume_text()) {
        if (lines.peek() == nullptr) lines.fail_expected("the header to end with a '#' line");
        const std::string_view line = lines.text();
        if (line.empty()) continue;
        if (line[0] == '#') break;
        Field field;
        if (!split_field(line, field)) lines.fail_expected("a header line '-key = value'");
        seen |= read_field(lines, field, header);
    }
    for (const Required& field : required_fields)
        if ((seen & field.bit) == 0)
            lines.fail_expected(std::string("the header line '-") + field.key + " = ' before the first '#' line");
    while (lines.peek() != nullptr && lines.text() != "#BEGIN_TB") {
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

}  // namespace kernelpoint
