// The text of an Accel-Sim trace (.traceg, plain, .xz or .zst, recognised by content).
#include <optional>

#include "native/trace/lines.h"
#include "native/trace/numbers.h"
#include "native/trace/paths.h"
#include "simulators/accelsim/trace/instruction.h"

namespace kernelpoint {

namespace {

// Real traces have one or two where one may be. The bound keeps a small packed file of them from being read for seconds.
constexpr uint64_t most_empty_lines = 200;

class TextReader : public TraceReader {
public:
    TextReader(const std::string& path, bool keep_values, std::shared_ptr<RegularFile> file)
        : lines(path, file ? std::move(file) : std::make_shared<RegularFile>(path)),
          launch_header(read_header_lines(lines)),
          parser(lines, launch_header, keep_values),
          ctas_left(launch_header.launch.grid.count()) {}

    const LaunchHeader& header() const override { return launch_header.launch; }
    const std::vector<Opcode>& opcodes() const override { return parser.opcodes(); }

    bool next(Cta& cta) override {
        cta.clear();
        if (ended) return false;
        skip_empty_lines();
        if (lines.peek() == nullptr) return end_of_trace(), false;
        if (lines.text() != "#BEGIN_TB") lines.fail_expected("'#BEGIN_TB'");
        if (ctas_left == 0)
            lines.fail_expected("no more CTAs than the grid has (" + std::to_string(header().grid.count()) + ")");
        lines.consume_text();
        skip_empty_lines();
        read_index(cta.index);
        read_cluster(cta.cluster);
        warps_seen = 0;
        for (;;) {
            skip_empty_lines();
            const std::string_view text = lines.text();
            if (text == "#END_TB") break;
            if (!starts_with(text, "warp =")) {
                const std::string after = cta.warps.empty()
                                              ? std::string("the CTA's index")
                                              : "the " + std::to_string(cta.warps.back().instruction_count) +
                                                    " instructions of warp " + std::to_string(cta.warps.back().id);
                lines.fail_expected("'warp = ' or '#END_TB' after " + after);
            }
            read_warp(cta);
        }
        lines.consume_text();
        --ctas_left;
        instructions += cta.instructions.size();
        return true;
    }

    uint64_t store_data_left_out() const override { return parser.store_data_left_out(); }

private:
    void skip_empty_lines() {
        uint64_t count = 0;
        for (const char* p; (p = lines.peek()) != nullptr; lines.consume(p + 1)) {
            skip_blanks(p);
            if (*p != '\n') return;
            if (++count > most_empty_lines) lines.fail_expected("at most " + std::to_string(most_empty_lines) + " empty lines");
        }
    }
    // Consumes "<key> = <number>" and returns the number.
    uint64_t read_count(std::string_view key, uint64_t limit, const std::string& meaning) {
        skip_empty_lines();
        const std::string_view text = lines.text();
        uint64_t number = 0;
        bool well_formed = starts_with(text, key);
        if (well_formed) {
            const char* p = text.data() + key.size();
            well_formed = parse_decimal(p, number) && p == text.data() + text.size() && number <= limit;
        }
        if (!well_formed)
            lines.fail_expected("'" + std::string(key) + "' and " + meaning + ", at most " + std::to_string(limit));
        lines.consume_text();
        return number;
    }

    // Model: a launch has exactly the CTAs of its grid, as in every trace measured (the 1,232 real launches of
    // simpletorch and simpletorch3): simulators issue as many as the header says, so a file with fewer was cut off
    // between two CTAs.
    void end_of_trace() {
        const uint64_t count = header().grid.count();
        if (ctas_left != 0)
            lines.fail_expected(std::to_string(count) + " CTAs as the grid says (the file has " +
                                std::to_string(count - ctas_left) + ")");
        if (instructions == 0) lines.fail_expected("at least one instruction");
        ended = true;
    }

    // True if the line is "<key> x,y,z".
    bool read_triple(std::string_view key, Dim3& triple) {
        std::string text(lines.text());
        if (!starts_with(text, key)) return false;
        text = text.substr(key.size()) + '\n';
        int commas = 0;
        for (char& c : text)
            if (c == ',') c = ' ', ++commas;
        const char* p = text.c_str();
        return commas == 2 && parse_decimal(p, triple.x) && parse_decimal(p, triple.y) && parse_decimal(p, triple.z) &&
               *p == '\n';
    }

    void read_index(Dim3& index) {
        const Dim3& grid = header().grid;
        const bool well_formed = read_triple("thread block =", index);
        if (!well_formed || index.x >= grid.x || index.y >= grid.y || index.z >= grid.z)
            lines.fail_expected("'thread block = x,y,z' within the grid (" + std::to_string(grid.x) + "," +
                                std::to_string(grid.y) + "," + std::to_string(grid.z) + ")");
        lines.consume_text();
    }

    // "cluster id = x,y,z", "cluster cta = x,y,z" and "cluster rank = n", each at most once.
    void read_cluster(Cluster& cluster) {
        for (bool has_id = false, has_cta = false, has_rank = false;; lines.consume_text()) {
            skip_empty_lines();
            const std::string_view text = lines.text();
            if (!starts_with(text, "cluster ")) return;
            if (!has_id && read_triple("cluster id =", cluster.index)) {
                has_id = true;
            } else if (!has_cta && read_triple("cluster cta =", cluster.cta)) {
                has_cta = true;
            } else if (!has_rank && starts_with(text, "cluster rank =")) {
                const char* p = text.data() + 14;
                has_rank = parse_decimal(p, cluster.rank) && p == text.data() + text.size();
                if (!has_rank) lines.fail_expected("'cluster rank = n'");
            } else {
                lines.fail_expected("'cluster id = x,y,z', 'cluster cta = x,y,z' or 'cluster rank = n', each once in a CTA");
            }
        }
    }

    void read_warp(Cta& cta) {
        Warp warp;
        warp.id = static_cast<uint32_t>(read_count("warp =", header().warps_per_cta() - 1, "a warp of the CTA"));
        const uint32_t bit = uint32_t{1} << warp.id;
        if ((warps_seen & bit) != 0)
            throw TraceError(lines.path(), lines.number(), "warp " + std::to_string(warp.id) + " occurs twice in this CTA");
        warps_seen |= bit;
        const uint64_t count = read_count("insts =", most_instructions, "a number of instructions");
        if (cta.instructions.size() + count > most_instructions)
            throw TraceError(lines.path(), lines.number(), "this CTA holds more than 2147483648 instructions");
        warp.first_instruction = static_cast<uint32_t>(cta.instructions.size());
        warp.instruction_count = static_cast<uint32_t>(count);
        for (uint64_t i = 0; i < count; ++i) {
            const char* p = lines.peek();
            if (p == nullptr || *p == '\n' || *p == 'w' || *p == '#')
                lines.fail_expected("instruction " + std::to_string(i + 1) + " of " + std::to_string(count) + " of warp " +
                                    std::to_string(warp.id));
            parser.parse(p, warp, cta);
        }
        cta.warps.push_back(warp);
    }

    Lines lines;
    const TraceHeader launch_header;
    InstructionParser parser;
    uint64_t ctas_left;
    uint64_t instructions = 0;
    uint32_t warps_seen = 0;  // bit per warp of the CTA being read: at most 1024 threads
    bool ended = false;
};

}  // namespace

std::unique_ptr<TraceReader> open_text(const std::string& path, bool keep_values, std::shared_ptr<RegularFile> file) {
    return std::make_unique<TextReader>(path, keep_values, std::move(file));
}

}  // namespace kernelpoint
