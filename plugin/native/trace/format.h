// A trace format: recognises its launches, lists and folders, and reads them. A constant of RegisteredTraceFormat in
// the folder of its simulator adds it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "native/registered.h"
#include "native/trace/launches.h"
#include "native/trace/lines.h"
#include "native/trace/trace.h"

namespace kernelpoint {

// Certainty that a file has a format. The surest format reads the file; among equals, the first by name.
enum class Match : uint8_t { none, possible, certain };

// Names of the files and folders in a folder, in no order.
using FolderEntries = std::vector<std::string>;

class TraceFormat {
public:
    virtual ~TraceFormat() = default;
    virtual const char* name() const = 0;  // of its simulator, in lower case
    // Name of the files that mark a folder of this format, for messages: "a kernel_config.txt".
    virtual const char* folder_content() const = 0;

    // Tells from a path whether it is a launch of this format; no file is opened.
    virtual Match match_launch(const std::string& path) const = 0;
    // Opens a trace and reads its header; throws TraceError. `file`: as in open_trace.
    virtual std::unique_ptr<TraceReader> open(const std::string& path, bool keep_values,
                                              std::shared_ptr<RegularFile> file) const = 0;
    // Name of a launch within its list. It stays the same when the list is moved.
    virtual std::string launch_name(const std::string& path) const;
    // Other files and folders of a launch, whose sizes and times show whether it was traced again.
    virtual std::vector<std::string> companions(const std::string& path) const;

    // Tells whether a file is a list of this format: by the name that its tracer gives it, or by its first line.
    virtual bool is_list_name(const std::string& path) const = 0;
    virtual Match match_list(std::string_view first_line) const = 0;
    // Reads a list; `lines` is at its first line. Paths of launches are relative to the list's folder. Throws
    // TraceError.
    virtual Launches read_list(Lines& lines) const = 0;

    // Tells whether a folder stands for a list of this format.
    virtual Match match_folder(const FolderEntries& entries) const = 0;
    virtual Launches read_folder(const std::string& folder, const FolderEntries& entries) const = 0;
};

// Finds the format for which `match(format)` is surest; null if it is `none` for all.
template <typename Matcher>
const TraceFormat* surest_format(const Matcher& match) {
    const TraceFormat* found = nullptr;
    Match best = Match::none;
    for (const TraceFormat* format : implementations<TraceFormat>()) {
        const Match here = match(*format);
        if (here > best) best = here, found = format;
    }
    return found;
}

// Format of a launch. Throws TraceError if no format recognises it.
const TraceFormat& format_of_launch(const std::string& path);

template <typename Format>
using RegisteredTraceFormat = Registered<TraceFormat, Format>;

// Reads a list, or a folder of traces, in the format that recognises it; launches of one file have one content. File
// names are relative to the list. Throws TraceError: no list, no launch in it, a trace that does not exist, or what
// else its format refuses.
Launches read_trace_list(const std::string& path);

}  // namespace kernelpoint
