// A launch in MacSim's layout and its list: the input holds trace.txt, trace_info.txt, kernel_names.txt,
// kernel_config.txt and the records of two warps, divided by lines of "%%".
#include "invariants.h"
#include "memory_files.h"
#include "native/trace/format.h"

namespace {

const char* const names[] = {"Kernel0/trace.txt", "Kernel0/trace_info.txt", "kernel_names.txt",
                             "kernel_config.txt", "Kernel0/trace_0.raw",    "Kernel0/trace_65536.raw"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string input(reinterpret_cast<const char*>(data), size);
    size_t from = 0;
    for (const char* name : names) {
        const size_t end = input.find("%%\n", from);
        fuzz::put_file(std::string("/memory/") + name, input.substr(from, end - from));
        from = end == std::string::npos ? input.size() : end + 3;
    }
    fuzz::read_launch("/memory/Kernel0/trace.txt", "/memory/");
    try {
        kernelpoint::read_trace_list("/memory/kernel_config.txt");
    } catch (const kernelpoint::TraceError&) {
    }
    fuzz::remove_files();
    return 0;
}
