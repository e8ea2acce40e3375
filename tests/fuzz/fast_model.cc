// A run of the fast model: the input is a trace. It is simulated, twice with equal results, or refused as damaged.
#include <atomic>

#include "fast_model/configuration/derive.h"
#include "fast_model/gpu.h"
#include "invariants.h"
#include "memory_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace kernelpoint::fast_model;
    static const std::string base =
        std::string(std::getenv("KERNELPOINT_SOURCE")) + "/python/kernelpoint/host_configs/v100.yaml";
    static const GpuConfig config = [] {
        GpuConfig small = read_configuration({base}, base).config;  // throws where the file is not there
        small.sms = 2;
        return small;
    }();
    fuzz::put_file("/memory/kernel-1.traceg", std::string(reinterpret_cast<const char*>(data), size));
    Cycles cycles[2] = {0, 0};
    for (Cycles& one : cycles) try {
            Gpu gpu(config);
            one = gpu.run("/memory/kernel-1.traceg").cycles;
            fuzz::require(one > 0 && gpu.result().counters.ctas == gpu.ctas_completed());
        } catch (const kernelpoint::TraceError&) {
        }
    fuzz::require(cycles[0] == cycles[1]);
    fuzz::remove_files();
    return 0;
}
