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
        for (const TraceList::Command& command : read_trace_list(arguments[1]).commands) {
            const TraceFormat& format = format_of_launch(command.path);
            const Scan scan = scan_trace(command.path);
            std::printf("%s %s %llu %llu\n", format.name(), format.launch_name(command.path).c_str(),
                        static_cast<unsigned long long>(scan.work.ctas),
                        static_cast<unsigned long long>(scan.work.instructions));
        }
    } catch (const TraceError& error) {
        std::printf("refused: %s\n", error.what());
    }
}
