// Accel-Sim's traces, as text (.traceg) or compressed (.tracez): what no other format takes is read as its text. Lists
// are kernelslist.g, or a folder of traces.
#include "native/trace/format.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

#include "kernelpoint/file_names.hpp"
#include "native/trace/numbers.h"
#include "native/trace/paths.h"
#include "simulators/accelsim/trace/instruction.h"

namespace kernelpoint {

namespace {

constexpr const char* kListName = "kernelslist.g";  // what the tracer's post-processing calls its list

// "MemcpyHtoD,0x<address>,<bytes>"
void read_copy(Lines& lines, Launches& list) {
    std::string text(lines.text());
    const auto commas = std::count(text.begin(), text.end(), ',');
    std::replace(text.begin(), text.end(), ',', ' ');
    text += '\n';
    uint64_t address = 0, bytes = 0;
    const char* p = text.c_str() + std::strlen("MemcpyHtoD");
    if (commas != 2 || !parse_address(p, address) || !parse_decimal(p, bytes) || *p != '\n')
        lines.fail_expected("'MemcpyHtoD,0x<address>,<bytes>'");
    list.add_copy(address, bytes);
}

struct NumberedFile {
    uint64_t number;
    std::string stem, context, name;  // kernel-7-ctx_0x1 and ctx_0x1 of kernel-7-ctx_0x1.traceg.xz
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
    if (ending != ".traceg" && ending != ".traceg.xz" && ending != ".traceg.zst" && ending != ".traceg.gz" &&
        ending != ".tracez")
        return false;
    file.name = name;
    file.stem = name.substr(0, dot);
    std::string number = file.stem.substr(7);
    const size_t context = number.find('-');
    if (context != std::string::npos) {
        if (!starts_with(std::string_view(number).substr(context), "-ctx_0x")) return false;
        file.context = number.substr(context + 1);
        number.resize(context);
    }
    number += '\n';
    const char* p = number.c_str();
    return parse_decimal(p, file.number);
}

// The name of the trace on a line of a list, relative to the list's folder; empty where the line names none. Accel-Sim
// reads lines that start with `kernel`. Lines that name a trace in another way are read too: `./kernel-1.traceg`, or an
// absolute path whose end lies in the list's folder, wherever that has moved since.
std::string trace_on(std::string_view text, const std::string& folder) {
    while (starts_with(text, "./")) text.remove_prefix(2);
    std::string name(text);
    NumberedFile file;
    if (starts_with(text, "kernel")) return name;
    if (!parse_trace_name(file_name(name), file) && !is_unprocessed(file_name(name))) return {};
    if (text[0] != '/') return name;
    for (size_t slash = 0; slash != std::string::npos; slash = name.find('/', slash + 1))
        if (name_problem(name.substr(slash + 1)).empty() && is_file(folder + name.substr(slash + 1)))
            return name.substr(slash + 1);
    return name;
}

// True where a line names no trace in a way that Accel-Sim reads, is no comment, and holds a name of one: bytes stand
// before it (a quote, a zero), and the launch would be missing from the program. Admission speaks of byte order marks.
bool passes_over_a_trace(std::string_view text) {
    for (const char* beginning : {"#", "//", "\xef\xbb\xbf"})
        if (starts_with(text, beginning)) return false;
    return text.find(".trace") != std::string_view::npos;
}

using Contents = std::unordered_map<std::string, uint32_t>;  // by line, and by trace

// The content of the launch that a line names, which is checked where it is named first; kNoContent where the line
// names none.
uint32_t read_launch(Lines& lines, const std::string& folder, Launches& list, Contents& known) {
    const std::string name = trace_on(lines.text(), folder);
    if (name.empty()) {
        if (passes_over_a_trace(lines.text())) lines.fail_expected("a trace's name, 'Memcpy...' or '# ...'");
        return kNoContent;
    }
    std::string trace = folder + name;
    lines.require_name(name);
    if (name[0] == '/')
        lines.fail("the trace " + name + " lies outside the list's folder; put it, or a link to it, beside the list");
    if (is_unprocessed(file_name(name))) lines.fail("the trace " + trace + " " + post_process);
    if (const auto same = known.find(trace); same != known.end()) return same->second;
    if (!is_file(trace)) lines.fail("the trace " + trace + " does not exist");
    NumberedFile file;
    const int64_t number = parse_trace_name(file_name(name), file) ? static_cast<int64_t>(file.number) : -1;
    return known.emplace(trace, list.add_path(trace, number)).first->second;
}

// Launches and copies; lines of other commands are ignored.
Launches read_kernelslist(Lines& lines) {
    const std::string folder = folder_of(lines.path());
    Launches list;
    Contents known;
    for (; lines.peek() != nullptr; lines.consume_text()) {
        const std::string text(lines.text());
        if (starts_with(text, "MemcpyHtoD")) {
            read_copy(lines, list);
            continue;
        }
        const auto before = known.find(text);
        const uint32_t content = before == known.end() ? read_launch(lines, folder, list, known) : before->second;
        if (before == known.end()) known.emplace(text, content);
        if (content != kNoContent) list.contents.push_back(content);
    }
    if (list.contents.empty())
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

// Launches of several CUDA contexts are several programs: their numbers say nothing of each other.
[[noreturn]] void fail_of_contexts(const std::string& folder, const std::set<std::string>& names) {
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    throw TraceError(folder, 0,
                     "expected the launches of one process, found those of " + std::to_string(names.size()) +
                         " CUDA contexts (" + all.substr(0, 400) +
                         "); each is a program of its own: give the list of one of them (a kernelslist_ctx_...g)");
}

// A folder's list, or else its traces by N.
Launches list_traces(const std::string& folder, const FolderEntries& entries) {
    std::set<std::string> lists;
    for (const std::string& name : entries)
        if (name == kListName || (starts_with(name, "kernelslist_ctx_") && ends_with(name, ".g"))) lists.insert(name);
    if (lists.count(kListName) > 0) lists = {kListName};
    if (lists.size() > 1) fail_of_contexts(folder, lists);
    if (lists.size() == 1) {
        Lines lines(folder + "/" + *lists.begin());
        return read_kernelslist(lines);
    }
    std::set<std::string> contexts;
    std::vector<NumberedFile> files;
    std::string unprocessed;
    for (const std::string& name : entries) {
        NumberedFile file;
        if (parse_trace_name(name, file)) {
            const std::string problem = name_problem(name);
            if (!problem.empty()) throw TraceError(folder, 0, problem);
            if (!file.context.empty()) contexts.insert(file.context);
            files.push_back(std::move(file));
        }
        if (is_unprocessed(name)) unprocessed = name;
    }
    if (files.empty()) throw TraceError(folder, 0, "the trace " + unprocessed + " " + post_process);
    if (contexts.size() > 1) fail_of_contexts(folder, contexts);
    std::sort(files.begin(), files.end());
    Launches list;
    for (size_t i = 0; i < files.size(); ++i) {
        if (i > 0 && files[i].stem == files[i - 1].stem)
            throw TraceError(folder, 0,
                             "expected one file for each launch, found both " + files[i - 1].name + " and " + files[i].name);
        list.contents.push_back(list.add_path(folder + "/" + files[i].name, static_cast<int64_t>(files[i].number)));
    }
    return list;
}

class AccelsimFormat : public TraceFormat {
public:
    const char* name() const override { return "accelsim"; }
    const char* folder_content() const override {
        return "a kernelslist.g, files kernel-N.traceg[.gz|.xz|.zst], kernel-N.tracez";
    }

    Match match_launch(const std::string&) const override { return Match::possible; }
    std::unique_ptr<TraceReader> open(const std::string& path, bool keep_values,
                                      std::shared_ptr<RegularFile> file) const override {
        return is_tracez(path) ? open_tracez(path, keep_values) : open_text(path, keep_values, std::move(file));
    }

    bool is_list_name(const std::string& path) const override { return ends_with(path, ".g"); }
    Match match_list(std::string_view) const override { return Match::possible; }
    Launches read_list(Lines& lines) const override { return read_kernelslist(lines); }

    Match match_folder(const FolderEntries& entries) const override { return match_traces(entries); }
    Launches read_folder(const std::string& folder, const FolderEntries& entries) const override {
        return list_traces(folder, entries);
    }
};

const RegisteredTraceFormat<AccelsimFormat> registered;

}  // namespace

}  // namespace kernelpoint
