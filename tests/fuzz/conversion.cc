// From Accel-Sim's format to MacSim's: the input is a .traceg. What can be read is refused by the converter, or becomes
// a launch that can be read and has as many CTAs, warps (one for a CTA without any) and active lanes.
#include <algorithm>
#include <map>

#include "invariants.h"
#include "memory_files.h"
#include "simulators/macsim/convert/convert.h"

namespace {

const std::string source = "/memory/kernel-1.traceg", folder = "/memory/Kernel0";

uint64_t count_warps(const std::string& path) {
    const auto reader = kernelpoint::open_trace(path);
    kernelpoint::Cta cta;
    uint64_t warps = 0;
    while (reader->next(cta)) warps += std::max<uint64_t>(cta.warps.size(), 1);
    return warps;
}

void write_launch() {
    std::map<uint32_t, size_t> warps;
    kernelpoint::macsim::each_warp(source, uint64_t{1} << 40, [&](uint32_t id, const auto& records) {
        const std::string bytes(reinterpret_cast<const char*>(records.data()), records.size() * sizeof records[0]);
        fuzz::put_file(folder + "/trace_" + std::to_string(id) + ".raw", bytes);
        warps[id] = records.size();
    });
    std::string list = "nvbit\n14\n1\n" + std::to_string(warps.size()) + "\n", counts;
    for (const auto& [id, count] : warps) {
        list += std::to_string(id) + " 0\n";
        counts += std::to_string(id) + " " + std::to_string(count) + "\n";
    }
    fuzz::put_file(folder + "/trace.txt", list);
    fuzz::put_file(folder + "/trace_info.txt", counts);
}

void convert() {
    const kernelpoint::Scan before = kernelpoint::scan_trace(source);
    const auto digest = kernelpoint::macsim::digest(source);
    write_launch();
    fuzz::require(digest.warps == count_warps(source));
    kernelpoint::Scan after;
    try {
        after = kernelpoint::scan_trace(folder + "/trace.txt");
    } catch (const kernelpoint::TraceError&) {
        fuzz::require(false);  // what the converter wrote may not be refused
    }
    fuzz::require(after.work.ctas <= before.header.grid.count() && after.work.warps == digest.warps);
    fuzz::require(after.work.thread_instructions == before.work.thread_instructions);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::put_file(source, std::string(reinterpret_cast<const char*>(data), size));
    try {
        convert();
    } catch (const kernelpoint::TraceError&) {
    }
    fuzz::remove_files();
    return 0;
}
