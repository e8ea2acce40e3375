// Trace lists and trace folders on disk: how many launches an application has, and whether a launch's files are whole.
#ifndef KERNELPOINT_MACSIM_TRACES_H
#define KERNELPOINT_MACSIM_TRACES_H

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include <fstream>
#include <string>
#include <vector>

#include "file_names.hpp"

namespace kernelpoint {

// Reason why a path cannot be opened as a file, or an empty string. A FIFO is not opened, because that would wait.
inline std::string file_problem(const std::string& path) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0) return path + ": " + strerror(errno);
    return S_ISREG(status.st_mode) ? std::string() : path + ": not a regular file";
}

// Last two parts of a path, "Kernel7/trace.txt" of ".../Kernel7/trace.txt".
inline std::string launch_name(const std::string& path) {
    const size_t last = path.rfind('/');
    const size_t before = last == std::string::npos || last == 0 ? last : path.rfind('/', last - 1);
    return before == std::string::npos ? path : path.substr(before + 1);
}

// Content of a kernel_config.txt, or of a trace.txt in its place, for one application.
struct TraceList {
    std::string path;
    std::string type;  // nvbit, ptx, newptx; anything else runs on CPU cores
    uint64_t launches = 0;
    std::string problem;  // reason why a name in it is refused

    bool on_gpu() const { return type == "nvbit" || type == "ptx" || type == "newptx"; }
};

inline TraceList read_list(const std::string& path) {
    TraceList list;
    list.path = path;
    if (!file_problem(path).empty()) return list;
    std::ifstream file(path.c_str());
    long version = 0, threads = 0;
    file >> list.type;
    if (!list.on_gpu()) return list;
    file >> version >> threads;
    if (!file.fail() && threads != -1) list.launches = 1;  // one kernel: the file is its own trace.txt
    std::string line;
    while (threads == -1 && file >> line) {
        ++list.launches;
        if (list.problem.empty()) list.problem = name_problem(launch_name(line));
    }
    return list;
}

// Reads the paths in MacSim's trace_file_list.
inline std::vector<std::string> read_applications(const std::string& path) {
    std::vector<std::string> applications;
    if (!file_problem(path).empty()) return applications;
    std::ifstream file(path.c_str());
    size_t count = 0;
    file >> count;
    std::string line;
    while (applications.size() < count && file >> line) applications.push_back(line);
    return applications;
}

// Reason why a warp's records cannot be simulated, or an empty string. Read to its end: MacSim would take a file that
// is cut short for a shorter warp. `records` is 0 where the number of records is not known.
inline std::string warp_problem(const std::string& path, uint64_t records, size_t record_size) {
    const std::string problem = file_problem(path);
    if (!problem.empty()) return problem;
    gzFile file = gzopen(path.c_str(), "rb");
    if (file == NULL) return path + ": " + strerror(errno);
    static char buffer[1 << 16];
    uint64_t bytes = 0;
    int got = 0;
    while ((got = gzread(file, buffer, sizeof(buffer))) > 0) bytes += static_cast<uint64_t>(got);
    int code = Z_OK;
    gzerror(file, &code);
    const bool is_closed = gzclose(file) == Z_OK;  // always: it frees the file
    const bool broken = got < 0 || code == Z_BUF_ERROR || !is_closed;
    if (broken) return path + ": cut short or damaged";
    if (bytes == 0) return path + ": holds no instructions";
    if (record_size == 0) return std::string();
    if (bytes % record_size != 0) return path + ": cut short inside a record";
    if (records != 0 && bytes / record_size < records)
        return path + ": holds " + std::to_string(bytes / record_size) + " instructions; trace_info.txt says " +
               std::to_string(records);
    return std::string();
}

// Checks a launch's files before MacSim opens them, and counts the warps.
class TraceFolder {
public:
    explicit TraceFolder(const std::string& trace) : m_trace(trace), m_base(trace), m_warps(0) {
        const size_t dot = trace.find_last_of('.');
        if (dot != std::string::npos) m_base = trace.substr(0, dot);
    }

    uint64_t warps() const { return m_warps; }

    // Reason why the launch cannot be simulated, or an empty string.
    std::string problem() {
        const std::string info = m_base + "_info.txt";
        const std::string problem = file_problem(m_trace);
        if (!problem.empty()) return problem;
        std::ifstream file(m_trace.c_str());
        if (!file.good()) return m_trace + ": " + strerror(errno);
        std::string type;
        long version = 0, blocks = 0;
        file >> type >> version;
        if (type == "nvbit" || type == "newptx") file >> blocks;
        file >> m_warps;
        if (file.fail() || m_warps == 0) return m_trace + ": not a trace (no number of warps)";
        const std::string missing = file_problem(info);
        if (!missing.empty()) return missing;
        std::ifstream lengths(info.c_str());
        if (!lengths.good()) return info + ": " + strerror(errno);
        for (uint64_t i = 0; i < m_warps; ++i) {
            const std::string found = row_problem(file, lengths, type == "nvbit" ? 64 : 0);
            if (!found.empty()) return found;
        }
        return std::string();
    }

private:
    std::string row_problem(std::ifstream& file, std::ifstream& lengths, size_t record_size) {
        uint64_t warp = 0, start = 0, same = 0, records = 0;
        file >> warp >> start;
        if (file.fail()) return m_trace + ": cut short (fewer warps than it says)";
        lengths >> same >> records;
        if (lengths.fail()) return m_base + "_info.txt: cut short (fewer warps than trace.txt says)";
        return warp_problem(m_base + "_" + std::to_string(warp) + ".raw", same == warp ? records : 0, record_size);
    }

    std::string m_trace;
    std::string m_base;
    uint64_t m_warps;
};

}  // namespace kernelpoint
#endif
