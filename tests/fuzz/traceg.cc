// Accel-Sim's text traces of every tracer version, plain, .xz or .zst: the input is the file.
#include "invariants.h"
#include "memory_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::put_file("/memory/kernel-1.traceg", std::string(reinterpret_cast<const char*>(data), size));
    fuzz::read_launch("/memory/kernel-1.traceg", "/memory/");
    fuzz::remove_files();
    return 0;
}
