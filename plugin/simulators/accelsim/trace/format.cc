// Accel-Sim's traces, as text (.traceg) or compressed (.tracez): what no other format takes is read as its text. Lists
// are kernelslist.g, or a folder of traces.
#include "native/trace/format.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "kernelpoint/names.hpp"
#include "native/trace/numbers.h"
#include "native/trace/paths.h"
#include "simulators/accelsim/trace/readers.h"

namespace kernelpoint {

namespace {

constexpr const char* kListName = "kernelslist.g";  // what the tracer's post-processing calls its list

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

struct NumberedFile {
    uint64_t number;
    std::string stem, name;  // kernel-7-ctx_0x1 of kernel-7-ctx_0x1.traceg.xz
    bool operator<(const NumberedFile& other) const {
        return number != other.number ? number < other.number : name < other.name;
    }
};

// The tracer's files before its post-processing.
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

// Reads what Accel-Sim reads: lines that start with `MemcpyHtoD` or `kernel`; all others are ignored.
TraceList read_kernelslist(Lines& lines) {
    const std::string folder = folder_of(lines.path());
    TraceList list;
    std::unordered_map<std::string, SharedText> known;
    for (; lines.peek() != nullptr; lines.consume_text()) {
        const std::string_view text = lines.text();
        if (starts_with(text, "MemcpyHtoD")) {
            list.commands.push_back(read_copy(lines));
        } else if (starts_with(text, "kernel")) {
            std::string trace = folder + std::string(text);
            lines.require_name(std::string(text));
            if (is_unprocessed(text)) lines.fail("the trace " + trace + " " + post_process);
            const auto [shared, added] = known.try_emplace(trace);
            if (added && !is_file(trace)) lines.fail("the trace " + trace + " does not exist");
            if (added) shared->second = std::move(trace);
            NumberedFile file;
            const int64_t number = parse_trace_name(std::string(text), file) ? static_cast<int64_t>(file.number) : -1;
            list.commands.push_back({TraceList::Kind::launch, shared->second, 0, 0, number});
            ++list.launches;
        }
    }
    if (list.launches == 0)
        throw TraceError(lines.path(), 0,
                         "expected at least one line that names a kernel's trace (kernel-N.traceg), found none");
    return list;
}

// `certain` where files kernel-N[-ctx_0x..].traceg[.xz|.zst] or .tracez lie in a folder, `possible` where their
// unprocessed forms do.
Match match_traces(const FolderEntries& entries) {
    Match match = Match::none;
    NumberedFile file;
    for (const std::string& name : entries) {
        if (name == kListName || parse_trace_name(name, file)) return Match::certain;
        if (is_unprocessed(name)) match = Match::possible;
    }
    return match;
}

// These files by N, whether or not a list lies beside them.
TraceList list_traces(const std::string& folder, const FolderEntries& entries) {
    if (std::find(entries.begin(), entries.end(), kListName) != entries.end()) {
        Lines lines(folder + "/" + kListName);
        return read_kernelslist(lines);
    }
    std::vector<NumberedFile> files;
    std::string unprocessed;
    for (const std::string& name : entries) {
        NumberedFile file;
        if (parse_trace_name(name, file)) {
            const std::string problem = name_problem(name);
            if (!problem.empty()) throw TraceError(folder, 0, problem);
            files.push_back(std::move(file));
        }
        if (is_unprocessed(name)) unprocessed = name;
    }
    if (files.empty()) throw TraceError(folder, 0, "the trace " + unprocessed + " " + post_process);
    std::sort(files.begin(), files.end());
    TraceList list;
    for (size_t i = 0; i < files.size(); ++i) {
        if (i > 0 && files[i].stem == files[i - 1].stem)
            throw TraceError(
                folder, 0,
                "expected one file for each launch, found both " + files[i - 1].name + " and " + files[i].name);
        list.commands.push_back(
            {TraceList::Kind::launch, folder + "/" + files[i].name, 0, 0, static_cast<int64_t>(files[i].number)});
    }
    list.launches = files.size();
    return list;
}

class AccelsimFormat : public TraceFormat {
public:
    const char* name() const override { return "accelsim"; }
    const char* folder_content() const override {
        return "a kernelslist.g, files kernel-N.traceg[.xz|.zst], kernel-N.tracez";
    }

    Match match_launch(const std::string&) const override { return Match::possible; }
    std::unique_ptr<TraceReader> open(const std::string& path, bool keep_values) const override {
        return is_tracez(path) ? open_tracez(path, keep_values) : open_text(path, keep_values);
    }

    bool is_list_name(const std::string& path) const override { return ends_with(path, ".g"); }
    Match match_list(std::string_view) const override { return Match::possible; }
    TraceList read_list(Lines& lines) const override { return read_kernelslist(lines); }

    Match match_folder(const FolderEntries& entries) const override { return match_traces(entries); }
    TraceList read_folder(const std::string& folder, const FolderEntries& entries) const override {
        return list_traces(folder, entries);
    }
};

const RegisteredTraceFormat<AccelsimFormat> registered;

}  // namespace

}  // namespace kernelpoint
