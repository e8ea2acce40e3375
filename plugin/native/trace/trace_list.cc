#include "native/trace/trace_list.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <unordered_set>

#include "native/trace/lines.h"
#include "native/trace/macsim/format.h"
#include "native/trace/macsim/launch.h"
#include "native/trace/numbers.h"

namespace kernelpoint {

namespace {

bool starts_with(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

bool is_folder(const std::string& path) {
    struct stat status{};
    return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_file(const std::string& path) {
    struct stat status{};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// "MemcpyHtoD,0x<address>,<bytes>"
TraceList::Command read_copy(Lines& lines) {
    std::string text(lines.text());
    const auto commas = std::count(text.begin(), text.end(), ',');
    std::replace(text.begin(), text.end(), ',', ' ');
    text += '\n';
    TraceList::Command command{TraceList::Kind::memcpy, {}};
    const char* p = text.c_str() + std::strlen("MemcpyHtoD");
    if (commas != 2 || !parse_address(p, command.address) || !parse_decimal(p, command.bytes) || *p != '\n')
        lines.fail_expected("'MemcpyHtoD,0x<address>,<bytes>'");
    return command;
}

// kernel_config.txt of MacSim: 'nvbit', '14', '-1', then a launch's trace.txt a line.
// Model: as MacSim does, of a launch's path only the last two components count, and they lie beside the list.
void read_macsim_list(Lines& lines, const std::string& folder, TraceList& list) {
    for (const char* expected : {"nvbit", "14", "-1"}) {
        if (lines.text() != expected) lines.fail_expected(std::string("'") + expected + "'");
        lines.consume_text();
    }
    std::unordered_set<std::string> known;
    for (; lines.peek() != nullptr; lines.consume_text()) {
        const std::string line(lines.text());
        if (line.empty()) continue;
        const size_t last = line.rfind('/');
        const size_t before = last == std::string::npos || last == 0 ? std::string::npos : line.rfind('/', last - 1);
        if (!macsim::is_launch(line) || before == std::string::npos) lines.fail_expected("'./Kernel<N>/trace.txt'");
        std::string trace = folder + line.substr(before + 1);
        if (known.insert(trace).second && !is_file(trace)) lines.fail("the trace " + trace + " does not exist");
        uint64_t number = 0;
        const bool is_numbered = macsim::launch_number(trace, number);
        list.commands.push_back(
            {TraceList::Kind::launch, std::move(trace), 0, 0, is_numbered ? static_cast<int64_t>(number) : -1});
        ++list.launches;
    }
    if (list.launches == 0)
        throw TraceError(lines.path(), 0, "expected at least one line that names a launch (./Kernel<N>/trace.txt)");
}

struct NumberedFile {
    uint64_t number;
    std::string stem, name;  // kernel-7-ctx_0x1 of kernel-7-ctx_0x1.traceg.xz
    bool operator<(const NumberedFile& other) const {
        return number != other.number ? number < other.number : name < other.name;
    }
};

bool ends_with(std::string_view text, std::string_view ending) {
    return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

// What the tracer writes before its post-processing.
bool is_unprocessed(std::string_view name) {
    return starts_with(name, "kernel-") && (ends_with(name, ".trace") || ends_with(name, ".trace.xz"));
}
const char* const post_process =
    "is not post-processed: run Accel-Sim's post-traces-processing on this list (or folder), and use the kernelslist.g "
    "that it writes";

bool parse_trace_name(const std::string& name, NumberedFile& file) {
    const size_t dot = name.find(".trace");
    if (!starts_with(name, "kernel-") || dot == std::string::npos) return false;
    const std::string ending = name.substr(dot);
    if (ending != ".traceg" && ending != ".traceg.xz" && ending != ".traceg.zst" && ending != ".tracez") return false;
    file.name = name;
    file.stem = name.substr(0, dot);
    std::string number = file.stem.substr(7);
    const size_t context = number.find('-');
    if (context != std::string::npos) {
        if (!starts_with(std::string_view(number).substr(context), "-ctx_0x")) return false;
        number.resize(context);
    }
    number += '\n';
    const char* p = number.c_str();
    return parse_decimal(p, file.number);
}

TraceList read_list_file(const std::string& path) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
    Lines lines(path);
    TraceList list;
    if (lines.text() == "nvbit") return read_macsim_list(lines, folder, list), list;
    std::unordered_set<std::string> known;
    for (; lines.peek() != nullptr; lines.consume_text()) {
        const std::string_view text = lines.text();
        if (starts_with(text, "MemcpyHtoD")) {
            list.commands.push_back(read_copy(lines));
        } else if (starts_with(text, "kernel")) {
            std::string trace = folder + std::string(text);
            if (is_unprocessed(text)) lines.fail("the trace " + trace + " " + post_process);
            if (known.insert(trace).second && !is_file(trace)) lines.fail("the trace " + trace + " does not exist");
            NumberedFile file;
            const int64_t number = parse_trace_name(std::string(text), file) ? static_cast<int64_t>(file.number) : -1;
            list.commands.push_back({TraceList::Kind::launch, std::move(trace), 0, 0, number});
            ++list.launches;
        }
    }
    if (list.launches == 0)
        throw TraceError(path, 0,
                         "expected at least one line that names a kernel's trace (kernel-N.traceg), found none");
    return list;
}

TraceList read_folder(const std::string& path) {
    std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
    if (folder == nullptr) throw TraceError(path, 0, std::string("cannot be opened: ") + std::strerror(errno));
    std::vector<NumberedFile> files;
    std::string unprocessed;
    while (const dirent* entry = readdir(folder.get())) {
        NumberedFile file;
        if (parse_trace_name(entry->d_name, file)) files.push_back(std::move(file));
        if (is_unprocessed(entry->d_name)) unprocessed = entry->d_name;
    }
    if (files.empty() && is_file(path + "/kernel_config.txt")) return read_list_file(path + "/kernel_config.txt");
    if (files.empty() && !unprocessed.empty())
        throw TraceError(path, 0, "the trace " + unprocessed + " " + post_process);
    if (files.empty())
        throw TraceError(path, 0,
                         "expected files kernel-N.traceg[.xz|.zst], kernel-N.tracez or a kernel_config.txt in this "
                         "folder, found none of them");
    std::sort(files.begin(), files.end());
    TraceList list;
    for (size_t i = 0; i < files.size(); ++i) {
        if (i > 0 && files[i].stem == files[i - 1].stem)
            throw TraceError(
                path, 0,
                "expected one file for each launch, found both " + files[i - 1].name + " and " + files[i].name);
        list.commands.push_back(
            {TraceList::Kind::launch, path + "/" + files[i].name, 0, 0, static_cast<int64_t>(files[i].number)});
    }
    list.launches = files.size();
    return list;
}

}  // namespace

TraceList read_trace_list(const std::string& path) {
    if (!is_folder(path)) return read_list_file(path);
    std::string folder = path;
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    return read_folder(folder);
}

}  // namespace kernelpoint
