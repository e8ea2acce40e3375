// Opens the plugin as a simulator does and tells how that went, for `kernelpoint doctor`.
//
//     kernelpoint-probe PLUGIN CONFIG
//
// Prints what the plugin logs, then the libpython it brought into the process. Exit code 1 with the reason on standard
// error where the plugin, Python or a session does not open.
#include <fstream>
#include <iostream>
#include <string>

#include "kernelpoint/loader.h"

namespace {

void print_line(void*, const char* line) {
    std::cout << line << '\n';
}

int refuse(const std::string& reason) {
    std::cerr << reason << '\n';
    return 1;
}

std::string mapped_libpython() {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    while (std::getline(maps, line)) {
        const size_t path = line.find('/');
        if (path != std::string::npos && line.find("/libpython", path) != std::string::npos) return line.substr(path);
    }
    return "none";
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return refuse("usage: kernelpoint-probe PLUGIN CONFIG");
    kp_core core;
    char problem[KP_MESSAGE_SIZE];
    if (kp_load(&core, arguments[1], problem) != 0) return refuse(problem);
    const uint64_t launch_counts[] = {1};
    kp_host host = {};
    host.size = sizeof(host);
    host.simulator = "probe";
    host.process_count = 1;
    host.launch_counts = launch_counts;
    host.log = &print_line;
    kp_session* session = nullptr;
    if (core.open(arguments[2], &host, &session) != KP_OK) return refuse(core.last_error());
    kp_summary summary = {};
    summary.size = sizeof(summary);
    if (core.finish(session, KP_ALL_PROCESSES, &summary) != KP_OK) return refuse(core.last_error());
    std::cout << "libpython " << mapped_libpython() << '\n';
}
