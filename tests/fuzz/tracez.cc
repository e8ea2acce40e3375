// Accel-Sim's .tracez: the input is the file. Read CTA by CTA, and warps by themselves.
#include "invariants.h"
#include "memory_files.h"
#include "simulators/accelsim/trace/tracez_source.h"

namespace {

void read_warps(const std::string& path) {
    try {
        kernelpoint::TracezWarps warps(path, true);
        kernelpoint::Cta cta;
        for (uint64_t number = warps.cta_count(), left = 3; left > 0 && number-- > 0; --left) {
            const size_t count = warps.entry(number).warps.size();
            if (count == 0) continue;
            const auto warp = static_cast<uint32_t>(number % count);
            warps.read(number, warp, cta);
            fuzz::require(cta.warps.size() == 1 && cta.warps[0].id == warp);
        }
    } catch (const kernelpoint::TraceError&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::put_file("/memory/kernel-1.tracez", std::string(reinterpret_cast<const char*>(data), size));
    fuzz::read_launch("/memory/kernel-1.tracez", "/memory/");
    read_warps("/memory/kernel-1.tracez");
    fuzz::remove_files();
    return 0;
}
