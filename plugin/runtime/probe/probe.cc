// Opens the plugin as a simulator does and tells how that went, for `kernelpoint doctor`.
//
//     kernelpoint-probe PLUGIN CONFIG
//
// Prints what the plugin logs, then the libpython it brought into the process. Exit code 1 with the reason on standard
// error where the plugin, Python or a session does not open.
#include <fstream>
#include <iostream>
#include <string>

#include "kernelpoint/client.hpp"

namespace {

void print_line(void*, const char* line) {
    std::cout << line << '\n';
}

void refuse(const std::string& reason) {
    std::cout.flush();
    std::cerr << reason << std::endl;
    _exit(1);
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
    if (count != 3) refuse("usage: kernelpoint-probe PLUGIN CONFIG");
    kernelpoint::Host host;
    host.simulator = "probe";
    host.processes = {{"", 1}};
    host.log = &print_line;
    host.plugin = arguments[1];
    kernelpoint::Client client(&refuse);
    client.open(arguments[2], host);
    client.finish();
    std::cout << "libpython " << mapped_libpython() << '\n';
}
