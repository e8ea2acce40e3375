#include "native/trace/trace_list.h"

#include <dirent.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "native/trace/format.h"
#include "native/trace/paths.h"

namespace kernelpoint {

namespace {

Launches read_list_file(const std::string& path) {
    Lines lines(path);
    const std::string first(lines.text());
    const TraceFormat* format = surest_format([&](const TraceFormat& f) { return f.match_list(first); });
    if (format == nullptr) lines.fail_expected("the first line of a trace list");
    return format->read_list(lines);
}

FolderEntries entries_of(const std::string& path) {
    std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
    if (folder == nullptr) throw TraceError(path, 0, std::string("cannot be opened: ") + std::strerror(errno));
    FolderEntries entries;
    while (const dirent* entry = readdir(folder.get())) entries.emplace_back(entry->d_name);
    return entries;
}

[[noreturn]] void fail_without_traces(const std::string& folder) {
    std::string known;
    for (const TraceFormat* format : implementations<TraceFormat>())
        known += (known.empty() ? "" : " or ") + std::string(format->folder_content());
    throw TraceError(folder, 0, "expected " + known + " in this folder, found none of them");
}

Launches read_folder(const std::string& path) {
    const FolderEntries entries = entries_of(path);
    const TraceFormat* format = surest_format([&](const TraceFormat& f) { return f.match_folder(entries); });
    if (format == nullptr) fail_without_traces(path);
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
