// Mutates valid traces and reads them: whatever comes out, nothing but a TraceError may. Compiled by test_fuzzing.py
// with the address and undefined behaviour sanitisers.
//
//     fuzz SEED SECONDS SCRATCH_FILE TRACE..
//
// A .tracez is mutated more finely: its numbers lie close together, and its frames, stored, hold text.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "native/trace/accelsim/tracez_source.h"
#include "native/trace/scan.h"
#include "native/trace/trace_list.h"

namespace {

using Random = std::mt19937_64;

const char* const words[] = {"-",
                             "0",
                             "#END_TB\n",
                             "#BEGIN_TB\n",
                             "warp = 1\n",
                             "\n",
                             "insts = 3\n",
                             "0xffffffffffffffff",
                             "4294967296",
                             "2 0x0 -1 ",
                             "18446744073709",
                             "9223372036854775807",
                             "-9223372036854775808",
                             "R255",
                             "UP7 ",
                             "LDG.E.U8.",
                             "thread block = 0,0,0\n",
                             "cluster cta = 1,0,0\n",
                             " NoVal",
                             " Val 1 0x5 32",
                             " 3 16384 0x10",
                             " 4 0x10 9",
                             "UTMALDG.2D",
                             "HGMMA.64x8x16",
                             " STORE_DATA ",
                             "\r",
                             "\x00\xff"};

void mutate(std::string& text, Random& random) {
    const auto at = [&] { return text.empty() ? 0 : random() % text.size(); };
    switch (random() % 7) {
        case 0:
            text.resize(at());
            break;
        case 1:
            text[at()] = static_cast<char>(random());
            break;
        case 2:
            text.insert(at(), words[random() % std::size(words)]);
            break;
        case 3:
            text.erase(at(), random() % 40);
            break;
        case 4:
            text.insert(at(), text.substr(at(), random() % 200));
            break;
        case 5:
            text[at()] ^= static_cast<char>(1 << random() % 8);
            break;
        default:
            text.replace(at(), 1, words[random() % std::size(words)]);
    }
}

// Of a .tracez: a number anywhere becomes another one.
void mutate_number(std::string& bytes, Random& random) {
    const uint64_t numbers[] = {0, 1, 2, 255, 65536, 0x7fffffff, 0xffffffff, bytes.size(), ~uint64_t{0}, random()};
    const uint64_t number = numbers[random() % std::size(numbers)];
    const size_t size = random() % 2 == 0 ? 4 : 8;
    if (bytes.size() < size) return;
    const size_t at = random() % 2 == 0
                          ? random() % (bytes.size() - size + 1)
                          : bytes.size() - size - random() % (std::min<size_t>(bytes.size(), 300) - size + 1);
    for (size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(number >> 8 * i);
}

// Guarantees of a reader to those who use it without checks of their own.
void check(const kernelpoint::TraceReader& reader, const kernelpoint::Cta& cta) {
    size_t instructions = 0, addresses = 0;
    for (const kernelpoint::Warp& warp : cta.warps) {
        if (warp.first_instruction != instructions || warp.id >= reader.header().warps_per_cta()) std::abort();
        instructions += warp.instruction_count;
    }
    for (const kernelpoint::Instruction& i : cta.instructions) {
        const auto lanes = static_cast<uint32_t>(__builtin_popcount(i.active_mask));
        if (i.opcode >= reader.opcodes().size() || i.destination_count > 2 || i.source_count > 6) std::abort();
        const uint32_t most = reader.opcodes()[i.opcode].is_bulk_copy ? kernelpoint::most_transfers : lanes;
        if (i.first_address != addresses || i.address_count > (i.width == 0 ? 0 : most)) std::abort();
        if (most == lanes && i.width != 0 && i.address_count != lanes) std::abort();
        addresses += i.address_count;
    }
    size_t values = 0;
    for (const kernelpoint::OperandValues& entry : cta.operand_values) {
        const kernelpoint::Instruction& i = cta.instructions.at(entry.instruction);
        if (entry.first != values) std::abort();
        for (int operand = 0; operand < i.destination_count + i.source_count; ++operand)
            values += (entry.per_lane >> operand & 1) != 0 ? 32 : 1;
    }
    if (values != cta.values.size()) std::abort();
    for (const kernelpoint::BulkCopy& copy : cta.bulk_copies)
        if (copy.instruction >= cta.instructions.size()) std::abort();
    if (instructions != cta.instructions.size() || addresses != cta.addresses.size()) std::abort();
}

bool is_readable(const std::string& path) {
    try {
        kernelpoint::TraceReader reader(path, true);
        kernelpoint::Cta cta;
        while (reader.next(cta)) check(reader, cta);
        return kernelpoint::scan_trace(path).work.instructions > 0;
    } catch (const kernelpoint::TraceError& error) {
        if (error.file != path || std::string(error.what()).find(path) != 0) std::abort();
        return false;
    }
}

// Warps by themselves: read like the whole, in any order.
void read_warps(const std::string& path, Random& random) {
    try {
        kernelpoint::TracezWarps warps(path, true);
        kernelpoint::Cta cta;
        for (int i = 0; i < 3; ++i) {
            const uint64_t number = random() % warps.cta_count();
            const size_t count = warps.entry(number).warps.size();
            if (count == 0) continue;
            const auto warp = static_cast<uint32_t>(random() % count);
            warps.read(number, warp, cta);
            if (cta.warps.size() != 1 || cta.warps[0].id != warp) std::abort();
        }
    } catch (const kernelpoint::TraceError&) {
    }
}

bool is_readable_list(const std::string& path) {
    try {
        return kernelpoint::read_trace_list(path).launches > 0;
    } catch (const kernelpoint::TraceError&) {
        return false;
    }
}

}  // namespace

int main(int count, char** arguments) {
    Random random(std::strtoull(arguments[1], nullptr, 10));
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(arguments[2]));
    std::vector<std::pair<std::string, bool>> seeds;  // bytes, whether a .tracez
    for (int i = 4; i < count; ++i) {
        std::ifstream file(arguments[i], std::ios::binary);
        seeds.emplace_back(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()),
                           kernelpoint::is_tracez(arguments[i]));
    }
    size_t tried = 0, readable = 0;
    for (; tried < 200000 && std::chrono::steady_clock::now() < end; ++tried) {
        auto [text, is_tracez] = seeds[random() % seeds.size()];
        const std::string scratch = std::string(arguments[3]) + (is_tracez ? ".tracez" : "");
        for (uint64_t left = random() % 4; left-- > 0;)
            is_tracez&& random() % 2 == 0 ? mutate_number(text, random) : mutate(text, random);
        std::ofstream(scratch, std::ios::binary) << text;
        readable += is_readable(scratch);
        if (is_tracez) read_warps(scratch, random);
        is_readable_list(scratch);
    }
    std::printf("%zu tried, %zu readable\n", tried, readable);
    return tried > 0 ? 0 : 2;
}
