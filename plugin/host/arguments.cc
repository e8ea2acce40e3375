#include "host/arguments.h"

#include <unistd.h>

#include <climits>
#include <map>

#include "fast_model/config.h"

namespace kernelpoint::host {

const char* const kUsage =
    "usage: kernelpoint-host -trace LIST -config CONFIG [-kernel_sampling FILE] [-results FILE]\n"
    "\n"
    "Simulates the kernel launches of an Accel-Sim trace list on a small model of a GPU. Not validated against "
    "hardware.\n"
    "\n"
    "  -trace LIST            kernelslist.g, or a folder of kernel-N.traceg files\n"
    "  -config CONFIG         the simulated GPU: a YAML file, or one of the packaged v100, rtx\n"
    "  -kernel_sampling FILE  sample launches as this YAML file says; absent: simulate all\n"
    "  -results FILE          write cycles, instructions and counters of each simulated launch as CSV\n"
    "\n"
    "exit status: 0 done; 1 refused input; 3 no bound is stated because launches failed; 130 interrupted\n";

std::string program_directory() {
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    const std::string program(path, length > 0 ? static_cast<size_t>(length) : 0);
    return program.substr(0, program.rfind('/'));
}

namespace {

std::string config_path(const std::string& name) {
    if (name.find_first_of("./") != std::string::npos) return name;
    return program_directory() + "/../host_configs/" + name + ".yaml";
}

}  // namespace

Arguments parse_arguments(int argc, char** argv) {
    Arguments arguments;
    std::map<std::string, std::string*> options{{"-trace", &arguments.trace},
                                                {"-config", &arguments.config},
                                                {"-kernel_sampling", &arguments.kernel_sampling},
                                                {"-results", &arguments.results}};
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        if (option == "-h" || option == "-help" || option == "--help") {
            arguments.help = true;
            return arguments;
        }
        const auto found = options.find(option);
        if (found == options.end()) {
            throw fast_model::ConfigError("unknown option '" + option +
                                          "'; allowed: -trace, -config, -kernel_sampling, -results, -help");
        }
        if (i + 1 == argc || *argv[i + 1] == '\0') throw fast_model::ConfigError(option + " needs a value");
        if (!found->second->empty()) throw fast_model::ConfigError(option + " is given twice; allowed: once");
        *found->second = argv[++i];
    }
    if (arguments.trace.empty())
        throw fast_model::ConfigError("-trace is missing; allowed: kernelslist.g, or a folder of traces");
    if (arguments.config.empty())
        throw fast_model::ConfigError("-config is missing; allowed: v100, rtx, or a YAML file");
    arguments.config = config_path(arguments.config);
    return arguments;
}

}  // namespace kernelpoint::host
