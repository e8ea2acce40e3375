// MacSim's traces: a launch is a folder Kernel<N> that its trace.txt stands for; kernel_config.txt lists launches.
#include "native/trace/format.h"

#include <algorithm>
#include <unordered_map>

#include "native/trace/paths.h"
#include "simulators/macsim/trace/launch.h"

namespace kernelpoint::macsim {

namespace {

constexpr const char* list_name = "kernel_config.txt";

// A path that names the list of a launch's warps: its last component is trace.txt.
bool is_launch(const std::string& path) {
    constexpr std::string_view name = "trace.txt";
    return ends_with(path, name) && (path.size() == name.size() || path[path.size() - name.size() - 1] == '/');
}

// "Kernel7/trace.txt" of ".../Kernel7/trace.txt"; empty where the line names nothing like it.
std::string launch_in(const std::string& line) {
    const size_t last = line.rfind('/');
    if (!is_launch(line) || last == std::string::npos || last == 0) return {};
    const size_t before = line.rfind('/', last - 1);
    return before == std::string::npos ? std::string() : line.substr(before + 1);
}

// Lines 'nvbit', '14', '-1', then a launch's trace.txt a line. Throws TraceError.
// Model: as MacSim does, of a launch's path only the last two components count, and they lie beside the list.
Launches read_launches(Lines& lines) {
    const std::string folder = folder_of(lines.path());
    for (const char* expected : {"nvbit", "14", "-1"}) {  // the text found is not quoted, as a link may lead to any file
        if (lines.text() != expected)
            lines.fail(std::string("expected '") + expected +
                       "': a list begins with the lines nvbit, 14 and -1, as MacSim's tracer writes it");
        lines.consume_text();
    }
    Launches list;
    std::unordered_map<std::string, uint32_t> known;  // contents by trace
    for (; lines.peek() != nullptr; lines.consume_text()) {
        const std::string line(lines.text());
        if (line.empty()) continue;
        const std::string launch = launch_in(line);
        if (launch.empty()) lines.fail_expected("'./Kernel<N>/trace.txt'");
        lines.require_name(launch);
        std::string trace = folder + launch;
        const auto [content, added] = known.try_emplace(trace, static_cast<uint32_t>(list.paths.size()));
        if (added) {
            if (!is_file(trace)) lines.fail("the trace " + trace + " does not exist");
            uint64_t number = 0;
            const bool is_numbered = launch_number(trace, number);
            list.add_path(std::move(trace), is_numbered ? static_cast<int64_t>(number) : -1);
        }
        list.contents.push_back(content->second);
    }
    if (list.contents.empty())
        throw TraceError(lines.path(), 0, "expected at least one line that names a launch (./Kernel<N>/trace.txt)");
    return list;
}

std::string launch_folder(const std::string& trace) {
    const std::string folder = folder_of(trace);
    return folder.empty() ? "./" : folder;
}

class MacsimFormat : public TraceFormat {
public:
    const char* name() const override { return "macsim"; }
    const char* folder_content() const override { return "a kernel_config.txt"; }

    Match match_launch(const std::string& path) const override { return is_launch(path) ? Match::certain : Match::none; }
    std::unique_ptr<TraceReader> open(const std::string& path, bool, std::shared_ptr<RegularFile>) const override {
        return open_launch(path);
    }
    // "Kernel7/trace.txt"
    std::string launch_name(const std::string& path) const override {
        std::string folder = folder_of(path);
        if (!folder.empty()) folder.pop_back();
        return file_name(folder) + "/" + file_name(path);
    }
    // Model: a launch is as new as the newest of its text files, its folder and kernel_names.txt; its warps' files,
    // which may be thousands, are not looked at one by one. A file that is replaced changes its folder.
    std::vector<std::string> companions(const std::string& path) const override {
        const std::string folder = launch_folder(path);
        return {folder + "trace_info.txt", folder, folder + "../kernel_names.txt"};
    }

    bool is_list_name(const std::string& path) const override { return file_name(path) == list_name; }
    Match match_list(std::string_view first_line) const override {
        return first_line == "nvbit" ? Match::certain : Match::none;
    }
    Launches read_list(Lines& lines) const override { return read_launches(lines); }

    Match match_folder(const FolderEntries& entries) const override {
        return std::find(entries.begin(), entries.end(), list_name) != entries.end() ? Match::certain : Match::none;
    }
    Launches read_folder(const std::string& folder, const FolderEntries&) const override {
        Lines lines(folder + "/" + list_name);
        return read_launches(lines);
    }
};

const RegisteredTraceFormat<MacsimFormat> registered;

}  // namespace

}  // namespace kernelpoint::macsim
