// From Accel-Sim's format to MacSim's: the input is a .traceg. What can be read is refused by the converter, or becomes
// a launch that can be read and has as many CTAs, warps (one for a CTA without any) and active lanes.
#include <algorithm>

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

void convert() {
    const std::atomic<bool> stop{false};
    const kernelpoint::Scan before = kernelpoint::scan_trace(source);
    const auto digest = kernelpoint::macsim::digest(source, stop);
    kernelpoint::macsim::write(source, folder, uint64_t{1} << 40, 1, stop);
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
