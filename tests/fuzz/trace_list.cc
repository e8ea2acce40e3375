// Trace lists of both simulators: the input is the list; some traces that it may name are there.
#include "invariants.h"
#include "memory_files.h"
#include "native/trace/format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    for (const char* name : {"kernel-1.traceg", "kernel-2.traceg.xz", "Kernel0/trace.txt"})
        fuzz::put_file(std::string("/memory/") + name, "");
    fuzz::put_file("/memory/kernelslist.g", std::string(reinterpret_cast<const char*>(data), size));
    try {
        const kernelpoint::Launches list = kernelpoint::read_trace_list("/memory/kernelslist.g");
        fuzz::require(!list.contents.empty() && list.numbers.size() == list.paths.size());
        for (const uint32_t content : list.contents) fuzz::require(list.paths.at(content).compare(0, 8, "/memory/") == 0);
        for (size_t copy = 0; copy < list.copies.size(); ++copy)
            fuzz::require(list.launches_before(copy) <= list.contents.size());
    } catch (const kernelpoint::TraceError& error) {
        fuzz::require(error.file == "/memory/kernelslist.g");
    }
    fuzz::remove_files();
    return 0;
}
