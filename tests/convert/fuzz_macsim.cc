// Two properties under the address and undefined behaviour sanitisers, for SECONDS each. Compiled by
// test_fuzzing_macsim.py.
//  1. Mutated files of a launch in MacSim's layout are read or refused with a TraceError.
//  2. Whatever mutated Accel-Sim trace can be read is either refused by the converter with a TraceError, or converted
//  to a
//     launch that can be read and has as many CTAs, warps (one more for a CTA without any) and active lanes.
//
//     fuzz_macsim SEED SECONDS SCRATCH_FOLDER LAUNCH_FOLDER TRACE..
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "native/convert/macsim.h"
#include "native/trace/scan.h"
#include "native/trace/trace_list.h"

namespace {

using Random = std::mt19937_64;
using Clock = std::chrono::steady_clock;

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
}

void mutate(std::string& text, Random& random) {
    const auto at = [&] { return text.empty() ? 0 : random() % text.size(); };
    const std::string words[] = {"-",
                                 "0",
                                 "65536 ",
                                 "\n",
                                 "4294967296",
                                 "18446744073709551615",
                                 ",",
                                 "(",
                                 "Kernel0 name: ",
                                 std::string(64, '\xff'),
                                 std::string(64, '\0'),
                                 "0x7f0000000000",
                                 "ffffffff"};
    switch (random() % 7) {
        case 0:
            text.resize(at());
            break;
        case 1:
            if (!text.empty()) text[at()] = static_cast<char>(random());
            break;
        case 2:
            text.insert(at(), words[random() % std::size(words)]);
            break;
        case 3:
            text.erase(at(), random() % 70);
            break;
        case 4:
            text.insert(at(), text.substr(at(), random() % 200));
            break;
        case 5:
            if (!text.empty()) text[at()] ^= static_cast<char>(1 << random() % 8);
            break;
        default:  // a field of a record, where the file is plain
            if (text.size() >= 64) text[at() / 64 * 64 + random() % 6] = static_cast<char>(random());
    }
}

bool reads(const std::string& path, kernelpoint::Scan& scan) {
    try {
        scan = kernelpoint::scan_trace(path);
        return true;
    } catch (const kernelpoint::TraceError&) {
        return false;
    }
}

struct Tried {
    int all = 0, readable = 0;
};

const char* const names[] = {"Kernel0/trace.txt",       "Kernel0/trace_info.txt", "Kernel0/trace_0.raw",
                             "Kernel0/trace_65536.raw", "kernel_names.txt",       "kernel_config.txt"};

Tried fuzz_launches(Random& random, double seconds, const std::string& scratch, const std::string& launch) {
    std::map<std::string, std::string> seeds;
    for (const char* name : names) seeds[name] = read_file(launch + "/" + name);
    mkdir((scratch + "/Kernel0").c_str(), 0777);
    for (const auto& [name, content] : seeds) write_file(scratch + "/" + name, content);
    Tried tried;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (; Clock::now() < end; ++tried.all) {
        const std::string name = names[random() % std::size(names)];
        std::string content = seeds[name];
        for (unsigned i = 0; i < 1 + random() % 3; ++i) mutate(content, random);
        write_file(scratch + "/" + name, content);
        kernelpoint::Scan scan;
        tried.readable += reads(scratch + "/Kernel0/trace.txt", scan);
        try {
            kernelpoint::read_trace_list(scratch);
        } catch (const kernelpoint::TraceError&) {
        }
        write_file(scratch + "/" + name, seeds[name]);
    }
    return tried;
}

// Warps, where a CTA without any has one.
uint64_t count_warps(const std::string& path) {
    kernelpoint::TraceReader reader(path);
    kernelpoint::Cta cta;
    uint64_t warps = 0;
    while (reader.next(cta)) warps += cta.warps.empty() ? 1 : cta.warps.size();
    return warps;
}

Tried fuzz_conversions(Random& random, double seconds, const std::string& scratch,
                       const std::vector<std::string>& traces) {
    Tried tried;
    const std::atomic<bool> stop{false};
    const std::string source = scratch + "/mutant.traceg", folder = scratch + "/Converted";
    mkdir(folder.c_str(), 0777);  // files of earlier conversions stay and are not listed
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (; Clock::now() < end; ++tried.all) {
        std::string content = traces[random() % traces.size()];
        for (unsigned i = 0; i < random() % 3; ++i) mutate(content, random);
        write_file(source, content);
        kernelpoint::Scan before, after;
        if (!reads(source, before)) continue;
        try {
            const auto digest = kernelpoint::macsim::digest(source, stop);
            kernelpoint::macsim::write(source, folder, uint64_t{1} << 40, 1, stop);
            if (digest.warps != count_warps(source)) std::abort();
        } catch (const kernelpoint::TraceError&) {
            continue;
        }
        after = kernelpoint::scan_trace(folder + "/trace.txt");  // may not be refused
        if (after.work.ctas > before.header.grid.count() || after.work.warps != count_warps(source)) std::abort();
        if (after.work.thread_instructions != before.work.thread_instructions) std::abort();
        ++tried.readable;
    }
    return tried;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 6) return 2;
    Random random(std::strtoull(arguments[1], nullptr, 10));
    const double seconds = std::strtod(arguments[2], nullptr);
    std::vector<std::string> traces;
    for (int i = 5; i < count; ++i) traces.push_back(read_file(arguments[i]));
    const Tried launches = fuzz_launches(random, seconds, arguments[3], arguments[4]);
    const Tried conversions = fuzz_conversions(random, seconds, arguments[3], traces);
    std::printf("%d %d %d %d\n", launches.all, launches.readable, conversions.all, conversions.readable);
}
