#include "native/trace/paths.h"

#include <sys/stat.h>

namespace kernelpoint {

bool is_inside(std::string_view name) {
    return ("/" + std::string(name) + "/").find("/../") == std::string::npos;
}

bool is_file(const std::string& path) {
    struct stat status{};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_folder(const std::string& path) {
    struct stat status{};
    return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace kernelpoint
