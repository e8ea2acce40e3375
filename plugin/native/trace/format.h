// A trace format: recognises its launches, lists and folders, and reads them. A constant of RegisteredTraceFormat in
// the folder of its simulator adds it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "native/registered.h"
#include "native/trace/lines.h"
#include "native/trace/trace.h"
#include "native/trace/trace_list.h"

namespace kernelpoint {

// Degree to which a format takes something for its own: the surest format reads it; of equally sure ones the first by
// name.
enum class Match : uint8_t { none, possible, certain };

// Names of the files and folders in a folder, in no order.
using FolderEntries = std::vector<std::string>;

class TraceFormat {
public:
    virtual ~TraceFormat() = default;
    virtual const char* name() const = 0;  // of its simulator, in lower case
    // The files that make a folder one of this format, for messages: "a kernel_config.txt".
    virtual const char* folder_content() const = 0;

    // A launch, by the path that lists name it with; nothing is opened.
    virtual Match match_launch(const std::string& path) const = 0;
    // Reads the header; throws TraceError. See open_trace.
    virtual std::unique_ptr<TraceReader> open(const std::string& path, bool keep_values) const = 0;
    // The launch's name within its list: a list that moves keeps the names.
    virtual std::string launch_name(const std::string& path) const;
    // Other files and folders of the launch whose sizes and times tell that it was traced again.
    virtual std::vector<std::string> companions(const std::string& path) const;

    // A list: by the name that its tracer gives it, where it must be told from a launch; else by its first line without
    // outer blanks.
    virtual bool is_list_name(const std::string& path) const = 0;
    virtual Match match_list(std::string_view first_line) const = 0;
    // `lines` stands at the first line. The launches' paths are made from the folder of the list. Throws TraceError.
    virtual Launches read_list(Lines& lines) const = 0;

    // A folder that stands for a list.
    virtual Match match_folder(const FolderEntries& entries) const = 0;
    virtual Launches read_folder(const std::string& folder, const FolderEntries& entries) const = 0;
};

// The format for which `match(format)` is surest; null where it is `none` for all.
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
// The format of a launch. Throws TraceError where no format takes it.
const TraceFormat& format_of_launch(const std::string& path);

template <typename Format>
using RegisteredTraceFormat = Registered<TraceFormat, Format>;

}  // namespace kernelpoint
