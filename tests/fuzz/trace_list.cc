// Trace lists of both simulators: the input is the list; some traces that it may name are there.
#include "native/trace/trace_list.h"

#include "invariants.h"
#include "memory_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    for (const char* name : {"kernel-1.traceg", "kernel-2.traceg.xz", "Kernel0/trace.txt"})
        fuzz::put_file(std::string("/memory/") + name, "");
    fuzz::put_file("/memory/kernelslist.g", std::string(reinterpret_cast<const char*>(data), size));
    try {
        const kernelpoint::TraceList list = kernelpoint::read_trace_list("/memory/kernelslist.g");
        size_t launches = 0;
        for (const auto& command : list.commands) {
            if (command.kind != kernelpoint::TraceList::Kind::launch) continue;
            ++launches;
            fuzz::require(command.path.get().compare(0, 8, "/memory/") == 0);
        }
        fuzz::require(launches == list.launches && launches > 0);
    } catch (const kernelpoint::TraceError& error) {
        fuzz::require(error.file == "/memory/kernelslist.g");
    }
    fuzz::remove_files();
    return 0;
}
