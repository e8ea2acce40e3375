// Records of MacSim's tracer, plain or gzip: the input is the file of one warp in a launch that is otherwise valid.
#include "invariants.h"
#include "memory_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::put_file("/memory/Kernel0/trace.txt", "nvbit\n14\n1\n1\n0 0\n");
    const size_t records = size >= 2 && data[0] == 0x1f && data[1] == 0x8b ? 4 : size / 64;
    fuzz::put_file("/memory/Kernel0/trace_info.txt", "0 " + std::to_string(records) + "\n");
    fuzz::put_file("/memory/Kernel0/trace_0.raw", std::string(reinterpret_cast<const char*>(data), size));
    fuzz::read_launch("/memory/Kernel0/trace.txt", "/memory/");
    fuzz::remove_files();
    return 0;
}
