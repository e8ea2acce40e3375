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
    kp_api api;
    char problem[KP_MESSAGE_SIZE];
    if (kp_load(&api, arguments[1], problem) != 0) return refuse(problem);
    kp_host_info info = {};
    info.size = sizeof(info);
    info.abi_version = KP_ABI_VERSION;
    info.simulator = "probe";
    info.process_count = 1;
    const uint64_t launch_counts[] = {1};
    info.launch_counts = launch_counts;
    info.log = &print_line;
    kp_session* session = nullptr;
    if (api.open(arguments[2], &info, &session) != KP_OK) return refuse(api.last_error());
    kp_summary summary = {};
    summary.size = sizeof(summary);
    if (api.finish(session, &summary) != KP_OK) return refuse(api.last_error());
    std::cout << "libpython " << mapped_libpython() << '\n';
}
