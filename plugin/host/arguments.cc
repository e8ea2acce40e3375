#include "host/arguments.h"

#include <unistd.h>

#include <climits>
#include <map>

#include "fast_model/config.h"
#include "kernelpoint/client.hpp"

namespace kernelpoint::host {

const char* const kUsage =
    "usage: kernelpoint-host -trace LIST -config CONFIG... [-kernel_sampling FILE] [-results FILE]\n"
    "\n"
    "Simulates the kernel launches of an Accel-Sim trace list on a small model of a GPU. Not validated against "
    "hardware.\n"
    "\n"
    "  -trace LIST            kernelslist.g, or a folder of kernel-N.traceg files\n"
    "  -config CONFIG         the simulated GPU: a YAML file, one of the packaged v100, rtx, or what another "
    "simulator\n"
    "                         takes: Accel-Sim's gpgpusim.config and trace.config (-config twice), MacSim's params.in\n"
    "  -kernel_sampling FILE  sample launches as this YAML file says, or as a pack (.kppack), whose list is then "
    "taken;\n"
    "                         absent: simulate all\n"
    "  -results FILE          write cycles, instructions and counters of each simulated launch as CSV\n"
    "\n"
    "exit status: 0 done; 1 refused input; 3 no bound is stated because launches failed; 130 interrupted\n";

// Folder of this program.
static std::string program_directory() {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    const std::string program(path, length > 0 ? static_cast<size_t>(length) : 0);
    return program.substr(0, program.rfind('/'));
}

std::string plugin_path() {
    return program_directory() + "/../lib/libkernelpoint.so";
}

std::string packaged_config(const std::string& name) {
    return program_directory() + "/../host_configs/" + name + ".yaml";
}

// The file of a configuration, named by its path or, where it is shipped, without folder and suffix.
std::string config_file(const std::string& name) {
    if (name.find_first_of("./") != std::string::npos) return name;
    const std::string path = packaged_config(name);
    if (access(path.c_str(), R_OK) == 0) return path;
    throw fast_model::ConfigError("-config: got '" + name + "'; allowed: v100, rtx, or a file");
}

Arguments parse_arguments(int argc, char** argv) {
    Arguments arguments;
    std::map<std::string, std::string*> options{{"-trace", &arguments.trace},
                                                {"-kernel_sampling", &arguments.kernel_sampling},
                                                {"-results", &arguments.results}};
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        if (option == "-h" || option == "-help" || option == "--help") {
            arguments.help = true;
            return arguments;
        }
        const auto found = options.find(option);
        if (found == options.end() && option != "-config") {
            throw fast_model::ConfigError("unknown option '" + option +
                                          "'; allowed: -trace, -config, -kernel_sampling, -results, -help");
        }
        if (i + 1 == argc || *argv[i + 1] == '\0') throw fast_model::ConfigError(option + " needs a value");
        if (option == "-config") {
            arguments.config.push_back(config_file(argv[++i]));
            continue;
        }
        if (!found->second->empty()) throw fast_model::ConfigError(option + " is given twice; allowed: once");
        *found->second = argv[++i];
    }
    unpack(&arguments.kernel_sampling, &arguments.trace, plugin_path(), &stop_run);
    if (arguments.trace.empty())
        throw fast_model::ConfigError("-trace is missing; allowed: kernelslist.g, or a folder of traces");
    if (arguments.config.empty()) throw fast_model::ConfigError("-config is missing; allowed: v100, rtx, or a file");
    return arguments;
}

}  // namespace kernelpoint::host
