// What MacSim's hook reads by itself before MacSim does: the input holds kernel_config.txt, trace.txt, trace_info.txt
// and the records of a warp, divided by lines of "%%". The files are on the disk, since zlib opens them.
#include <cstdlib>
#include <fstream>

#include "../../macsim_patch/hook/traces.h"
#include "invariants.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::string folder = [] {
        char made[] = "/tmp/warp_files.XXXXXX";
        return std::string(mkdtemp(made));
    }();
    const std::string input(reinterpret_cast<const char*>(data), size);
    size_t from = 0;
    for (const char* name : {"/kernel_config.txt", "/trace.txt", "/trace_info.txt", "/trace_0.raw"}) {
        const size_t end = input.find("%%\n", from);
        std::ofstream(folder + name, std::ios::binary) << input.substr(from, end - from);
        from = end == std::string::npos ? input.size() : end + 3;
    }
    const kernelpoint::TraceList list = kernelpoint::read_list(folder + "/kernel_config.txt");
    fuzz::require(list.launches <= size && list.problem.find('\n') == std::string::npos);
    fuzz::require(kernelpoint::read_applications(folder + "/kernel_config.txt").size() <= size);
    kernelpoint::TraceFolder launch(folder + "/trace.txt");
    if (launch.problem().empty()) fuzz::require(launch.warps() > 0 && launch.warps() <= size);
    return 0;
}
