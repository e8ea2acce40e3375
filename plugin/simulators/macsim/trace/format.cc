// MacSim's traces: a launch is a folder Kernel<N> that its trace.txt stands for.
#include "native/trace/format.h"

#include <algorithm>

#include "native/trace/paths.h"
#include "simulators/macsim/trace/list.h"
#include "simulators/macsim/trace/source.h"

namespace kernelpoint::macsim {

namespace {

std::string launch_folder(const std::string& trace) {
    const std::string folder = folder_of(trace);
    return folder.empty() ? "./" : folder;
}

class MacsimFormat : public TraceFormat {
public:
    const char* name() const override { return "macsim"; }
    const char* folder_content() const override { return "a kernel_config.txt"; }

    Match match_launch(const std::string& path) const override {
        return is_launch(path) ? Match::certain : Match::none;
    }
    std::unique_ptr<TraceSource> open(const std::string& path, bool) const override { return open_launch(path); }
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
    TraceList read_list(Lines& lines) const override { return macsim::read_list(lines); }

    Match match_folder(const FolderEntries& entries) const override {
        return std::find(entries.begin(), entries.end(), list_name) != entries.end() ? Match::certain : Match::none;
    }
    TraceList read_folder(const std::string& folder, const FolderEntries&) const override {
        Lines lines(folder + "/" + list_name);
        return macsim::read_list(lines);
    }
};

const RegisteredTraceFormat<MacsimFormat> registered;

}  // namespace

}  // namespace kernelpoint::macsim
