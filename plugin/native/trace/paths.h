// Paths of trace lists.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace kernelpoint {

inline bool starts_with(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

inline bool ends_with(std::string_view text, std::string_view ending) {
    return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

// Part of a path up to and including its last slash; empty without a slash.
inline std::string folder_of(const std::string& path) {
    return path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
}

inline std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

inline bool is_file(const std::string& path) {
    std::error_code none;
    return std::filesystem::is_regular_file(path, none);
}

inline bool is_folder(const std::string& path) {
    std::error_code none;
    return std::filesystem::is_directory(path, none);
}

}  // namespace kernelpoint
