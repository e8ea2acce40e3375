// Reads traces in one of several ways and prints processor seconds and what was counted; run by traces.py.
//
//     trace_speed blocks|frames|index|read|scan|naive TRACE..
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "native/trace/accelsim/tracez.h"
#include "native/trace/input.h"
#include "native/trace/scan.h"

namespace {

struct Count {
    uint64_t instructions = 0, addresses = 0;
};

void read_blocks(const std::string& path, Count&) {
    kernelpoint::Input input(path);
    const char *begin, *end;
    while (input.next_block(begin, end, 0)) {
    }
}

// Of a .tracez: decompresses every sub-chunk and looks at nothing.
void read_frames(const std::string& path, Count&) {
    const kernelpoint::TracezFile file(path);
    kernelpoint::TracezIndex index(file);
    kernelpoint::TracezFrames frames(file);
    kernelpoint::TracezCta cta;
    std::vector<char> text(256 << 10);
    while (index.next(cta))
        for (const kernelpoint::TracezWarp& warp : cta.warps) {
            uint64_t offset = warp.offset + 8;
            for (const uint32_t lines : warp.sub_chunks) {
                offset = frames.open(offset, lines);
                while (frames.read(text.data(), text.size()) > 0) {
                }
            }
        }
}

// Of a .tracez: how many instructions its index says.
void read_index(const std::string& path, Count& count) {
    const kernelpoint::TracezFile file(path);
    kernelpoint::TracezIndex index(file);
    for (kernelpoint::TracezCta cta; index.next(cta);) count.instructions += cta.instructions();
}

void read_ctas(const std::string& path, Count& count) {
    kernelpoint::TraceReader reader(path);
    for (kernelpoint::Cta cta; reader.next(cta);) {
        count.instructions += cta.instructions.size();
        count.addresses += cta.addresses.size();
    }
}

void scan(const std::string& path, Count& count) {
    count.instructions += kernelpoint::scan_trace(path).work.instructions;
}

// The plain way to read this format: a stream for the file and one for each line; tracer version 3 only.
void read_naively(const std::string& path, Count& count) {
    struct Parsed {
        uint64_t pc, mask;
        std::vector<std::string> destinations, sources;
        std::string opcode;
        std::vector<uint64_t> addresses;
    };
    std::ifstream file(path);
    std::vector<Parsed> cta;
    for (std::string line; std::getline(file, line);) {
        if (line == "#BEGIN_TB") cta.clear();
        if (line.empty() || line[0] == '#' || line[0] == '-' || line[0] == 'w' || line[0] == 't' || line[0] == 'i')
            continue;
        std::istringstream words(line);
        Parsed& row = cta.emplace_back();
        size_t registers = 0, width = 0, mode = 0;
        words >> std::hex >> row.pc >> row.mask >> std::dec >> registers;
        row.destinations.resize(registers);
        for (std::string& name : row.destinations) words >> name;
        words >> row.opcode >> registers;
        row.sources.resize(registers);
        for (std::string& name : row.sources) words >> name;
        words >> width;
        if (width > 0) {
            const auto lanes = static_cast<size_t>(__builtin_popcountll(row.mask));
            uint64_t address = 0;
            int64_t step = 0;
            words >> mode >> std::hex >> address >> std::dec;
            for (size_t i = 0; i < lanes; ++i) {
                if (i > 0 && mode == 0) words >> std::hex >> address >> std::dec;
                if (mode == 2 ? i > 0 : mode == 1 && i == 0) words >> step;
                if (i > 0 && mode != 0) address += static_cast<uint64_t>(step);
                row.addresses.push_back(address);
            }
            count.addresses += lanes;
        }
        ++count.instructions;
    }
}

}  // namespace

int main(int count, char** arguments) {
    const std::string mode = arguments[1];
    void (*const read)(const std::string&, Count&) = mode == "blocks"   ? read_blocks
                                                     : mode == "frames" ? read_frames
                                                     : mode == "index"  ? read_index
                                                     : mode == "read"   ? read_ctas
                                                     : mode == "scan"   ? scan
                                                                        : read_naively;
    Count total;
    const std::clock_t start = std::clock();
    for (int i = 2; i < count; ++i) read(arguments[i], total);
    std::printf("%.6f %llu %llu\n", static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC,
                static_cast<unsigned long long>(total.instructions), static_cast<unsigned long long>(total.addresses));
}
