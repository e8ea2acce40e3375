// Footprints: bytes that are unpacked (of a pack, or kept in the cache), and those of a trace, packed and unpacked
// again.
#include "native/replay/footprint.h"

#include "invariants.h"
#include "memory_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace kernelpoint::replay;
    const std::string input(reinterpret_cast<const char*>(data), size);
    Footprint found;
    if (unpack(input, found)) {
        Footprint again;
        fuzz::require(unpack(pack(found), again) && again.touches == found.touches && again.grid == found.grid);
    }
    fuzz::put_file("/memory/kernel-1.traceg", input);
    try {
        const Footprint read = read_footprint("/memory/kernel-1.traceg", Residency{4, 8, 64, 65536, 65536});
        Footprint again;
        fuzz::require(unpack(pack(read), again) && again.touches == read.touches && again.grid == read.grid);
    } catch (const kernelpoint::TraceError&) {
    }
    fuzz::remove_files();
    return 0;
}
