// Check that a launch's trace file is there and whole, and reading of its first lines. Looks at its ends only.
#ifndef KERNELPOINT_ACCELSIM_TRACE_FILE_H
#define KERNELPOINT_ACCELSIM_TRACE_FILE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <string>

namespace kernelpoint {

inline bool ends_with(const std::string& text, const char* ending) {
    const size_t length = strlen(ending);
    return text.size() >= length && text.compare(text.size() - length, length, ending) == 0;
}

// Up to `count` bytes from the beginning (origin SEEK_SET) or the end (SEEK_END) of an open file.
inline std::string bytes_at(FILE* file, int origin, long count) {
    if (fseek(file, 0, SEEK_END) != 0) return std::string();
    const long size = ftell(file);
    if (size < count) count = size;
    fseek(file, origin == SEEK_SET ? 0 : size - count, SEEK_SET);
    std::string bytes(count > 0 ? count : 0, '\0');
    bytes.resize(fread(&bytes[0], 1, bytes.size(), file));
    return bytes;
}

// True if the last eight bytes of a .tracez, `tail`, name a place in its `size` bytes for the index of its CTAs.
inline bool has_index(const std::string& tail, uint64_t size) {
    if (tail.size() < 8) return false;
    uint64_t offset = 0;
    for (size_t i = 1; i <= 8; ++i) offset = offset << 8 | static_cast<unsigned char>(tail[tail.size() - i]);
    return offset > 0 && size >= 12 && offset <= size - 12;
}

// The reason why the file cannot be simulated, or an empty string. A file cut short would be simulated as a shorter
// kernel, a missing one as an empty kernel.
inline std::string trace_problem(const std::string& path) {
    struct stat status;
    if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
        return path + ": not a regular file";  // opening a FIFO would wait
    FILE* file = fopen(path.c_str(), "rb");
    if (file == NULL) return path + ": " + strerror(errno);
    const bool packed = ends_with(path, ".xz");
    const std::string head = bytes_at(file, SEEK_SET, 6);
    std::string tail = bytes_at(file, SEEK_END, 256);
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    fclose(file);
    if (packed) {
        while (ends_with(tail, "\n") || (!tail.empty() && tail[tail.size() - 1] == '\0')) tail.resize(tail.size() - 1);
        if (head != std::string("\xFD"
                                "7zXZ\0",
                                6))
            return path + ": not an xz file";
        return ends_with(tail, "YZ") ? std::string() : path + ": cut short (no xz footer)";
    }
    if (head.empty() || (head[0] != '-' && head[0] != '#')) return path + ": not a trace (no header)";
    if (ends_with(path, ".tracez"))
        return has_index(tail, size) ? std::string() : path + ": cut short (no index of its CTAs at its end)";
    return tail.find("#END_TB") != std::string::npos ? std::string() : path + ": cut short (no #END_TB at its end)";
}

// The kernel's name from the header of a plain trace; the file's own name where that cannot be read cheaply.
inline std::string kernel_name_of(const std::string& path) {
    struct stat status;
    const char key[] = "-kernel name = ";
    const size_t slash = path.rfind('/');
    std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    const bool readable = !ends_with(path, ".xz") && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    FILE* file = !readable ? NULL : fopen(path.c_str(), "rb");
    if (file == NULL) return name;
    char line[4096];
    for (int i = 0; i < 4 && fgets(line, sizeof(line), file) != NULL; ++i)
        if (strncmp(line, key, sizeof(key) - 1) == 0)
            name.assign(line + sizeof(key) - 1, strcspn(line + sizeof(key) - 1, "\r\n"));
    fclose(file);
    return name;
}

}  // namespace kernelpoint
#endif
