// Fuzz target of loader.h: environment, files and output of the command `kernelpoint`; names of any bytes and
// length, packs of any beginning, lines that the command prints. Nothing is opened whose name had to be cut off.
#include "kernelpoint/loader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "abi_calls.h"

namespace {

// A folder with a command `kernelpoint` that prints the file `said`, and no other command but `cat`.
const std::string& folder() {
    static const std::string made = [] {
        char name[] = "/tmp/loader.XXXXXX";
        const std::string folder = mkdtemp(name);
        std::ofstream(folder + "/kernelpoint") << "#!/bin/sh\nexec /bin/cat " << folder << "/said\n";
        chmod((folder + "/kernelpoint").c_str(), 0755);
        setenv("PATH", folder.c_str(), 1);
        return folder;
    }();
    return made;
}

std::string write(const char* name, const std::string& content) {
    const std::string path = folder() + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Choices choices(data, size);
    const uint64_t repeated = choices.of<uint64_t>({1, 1, 1, 10, 500, 5000}), kind = choices.below(4);
    std::string text, once;
    while (choices.left()) once += static_cast<char>(choices.byte());
    for (uint64_t i = 0; i < repeated && text.size() < 20000; ++i) text += once;
    const size_t zero = text.find('\0');
    const std::string name = "/nonexistent/" + text.substr(0, zero);
    const std::string pack = write("pack", text);
    fuzz::require(kp_is_pack(pack.c_str()) == (text.compare(0, 4, "PK\003\004") == 0));
    unsetenv("KERNELPOINT_PLUGIN");
    if (kind == 0) setenv("KERNELPOINT_PLUGIN", name.c_str(), 1);
    write("said", kind == 3 ? "/nonexistent/" + text : std::string());
    kp_core core;
    char problem[KP_MESSAGE_SIZE], path[PATH_MAX];
    kp_plugin_path(kind == 1 ? name.c_str() : nullptr, path, sizeof(path));
    const std::string taken(path);
    if (kind < 2) fuzz::require(taken == (name.size() < sizeof(path) ? name : std::string()));
    if (kind == 3) fuzz::require(taken.find_first_of("\r\n") == std::string::npos && taken.size() < sizeof(path));
    // A library of the system is no plugin.
    const char* other = kind == 1 ? name.c_str() : kind == 2 ? "libm.so.6" : nullptr;
    fuzz::require(kp_load(&core, other, problem) == -1 && std::memchr(problem, '\0', sizeof(problem)) != problem);
    return 0;
}
