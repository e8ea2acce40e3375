// Prints the trace formats that are linked in, and of every launch of a list its format, name, CTAs and instructions.
//
//     read_list LIST_OR_FOLDER
#include <cstdio>

#include "native/trace/format.h"
#include "native/trace/scan.h"

int main(int, char** arguments) {
    using namespace kernelpoint;
    for (const TraceFormat* format : implementations<TraceFormat>()) std::printf("%s\n", format->name());
    try {
        const Launches list = read_trace_list(arguments[1]);
        for (uint64_t launch = 0; launch < list.contents.size(); ++launch) {
            const std::string& path = list.path(launch);
            const TraceFormat& format = format_of_launch(path);
            const Scan scan = scan_trace(path);
            std::printf("%s %s %llu %llu\n", format.name(), format.launch_name(path).c_str(),
                        static_cast<unsigned long long>(scan.work.ctas),
                        static_cast<unsigned long long>(scan.work.instructions));
        }
    } catch (const TraceError& error) {
        std::printf("refused: %s\n", error.what());
    }
}
