// Accel-Sim's .tracez: the input is the file.
#include "invariants.h"
#include "memory_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::put_file("/memory/kernel-1.tracez", std::string(reinterpret_cast<const char*>(data), size));
    fuzz::read_launch("/memory/kernel-1.tracez", "/memory/");
    fuzz::remove_files();
    return 0;
}
