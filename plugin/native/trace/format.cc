#include "native/trace/format.h"

#include <filesystem>
#include <memory>
#include <set>

#include "kernelpoint/file_names.hpp"
#include "native/trace/paths.h"

namespace kernelpoint {

void Cta::clear() {
    index = {0, 0, 0};
    cluster = {};
    warps.clear();
    instructions.clear();
    addresses.clear();
    bulk_copies.clear();
    operand_values.clear();
    values.clear();
}

std::unique_ptr<TraceReader> open_trace(const std::string& path, bool keep_values, std::shared_ptr<RegularFile> file) {
    return format_of_launch(path).open(path, keep_values, std::move(file));
}

std::string TraceFormat::launch_name(const std::string& path) const {
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::vector<std::string> TraceFormat::companions(const std::string&) const {
    return {};
}

const TraceFormat& format_of_launch(const std::string& path) {
    const TraceFormat* found = surest_format([&](const TraceFormat& format) { return format.match_launch(path); });
    if (found == nullptr) throw TraceError(path, 0, "is in no known trace format");
    return *found;
}

namespace {

Launches read_list_file(const std::string& path) {
    Lines lines(path);
    const std::string first(lines.text());
    const TraceFormat* format = surest_format([&](const TraceFormat& f) { return f.match_list(first); });
    if (format == nullptr) lines.fail_expected("the first line of a trace list");
    return format->read_list(lines);
}

FolderEntries entries_of(const std::string& path) {
    std::error_code error;
    FolderEntries entries;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
        entries.push_back(entry->path().filename().string());
    if (error) throw TraceError(path, 0, "cannot be opened: " + error.message());
    return entries;
}

const TraceFormat* format_of_folder(const FolderEntries& entries) {
    return surest_format([&](const TraceFormat& f) { return f.match_folder(entries); });
}

// Names of the folders in a folder that stand for lists, as MPI ranks have them, in order.
std::set<std::string> folders_with_lists(const std::string& folder, const FolderEntries& entries) {
    std::set<std::string> names;
    for (const std::string& name : entries) {
        const std::string path = folder + "/" + name;
        if (name[0] == '.' || !name_problem(name).empty() || !is_folder(path)) continue;
        try {
            if (format_of_folder(entries_of(path)) != nullptr) names.insert(name);
        } catch (const TraceError&) {  // a folder that cannot be opened
        }
    }
    return names;
}

[[noreturn]] void fail_without_traces(const std::string& folder, const FolderEntries& entries) {
    constexpr size_t named = 8;
    std::string known, below;
    for (const TraceFormat* format : implementations<TraceFormat>())
        known += (known.empty() ? "" : " or ") + std::string(format->folder_content());
    const std::set<std::string> names = folders_with_lists(folder, entries);
    if (names.empty()) throw TraceError(folder, 0, "expected " + known + " in this folder, found none of them");
    size_t count = 0;
    for (const std::string& name : names)
        if (count++ < named) below += (below.empty() ? "" : ", ") + name;
    if (count > named) below += " and " + std::to_string(count - named) + " more";
    throw TraceError(folder, 0,
                     "expected " + known + " in this folder, found " + std::to_string(count) +
                         (count == 1 ? " folder" : " folders") + " with traces in it (" + below +
                         "). Each process, such as an MPI rank, is a program of its own: `kernelpoint plan " + folder + "/" +
                         *names.begin() + "`");
}

Launches read_folder(const std::string& path) {
    const FolderEntries entries = entries_of(path);
    const TraceFormat* format = format_of_folder(entries);
    if (format == nullptr) fail_without_traces(path, entries);
    return format->read_folder(path, entries);
}

}  // namespace

Launches read_trace_list(const std::string& path) {
    if (!is_folder(path)) return read_list_file(path);
    std::string folder = path;
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    return read_folder(folder);
}

}  // namespace kernelpoint
