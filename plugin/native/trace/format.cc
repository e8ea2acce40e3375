#include "native/trace/format.h"

#include <algorithm>

namespace kernelpoint {

namespace {

// Formats live as long as the process: a reader may still run while static objects end.
std::vector<const TraceFormat*>& registered() {
    static auto* const formats = new std::vector<const TraceFormat*>();
    return *formats;
}

}  // namespace

std::string TraceFormat::launch_name(const std::string& path) const {
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

std::vector<std::string> TraceFormat::companions(const std::string&) const {
    return {};
}

void register_trace_format(std::unique_ptr<const TraceFormat> format) {
    std::vector<const TraceFormat*>& formats = registered();
    const std::string_view name = format->name();
    const auto place =
        std::find_if(formats.begin(), formats.end(), [&](const TraceFormat* other) { return other->name() >= name; });
    if (place != formats.end() && (*place)->name() == name)
        throw std::logic_error("two trace formats are called " + std::string(name));
    formats.insert(place, format.release());
}

const std::vector<const TraceFormat*>& trace_formats() {
    return registered();
}

const TraceFormat& format_of_launch(const std::string& path) {
    const TraceFormat* found = surest_format([&](const TraceFormat& format) { return format.match_launch(path); });
    if (found == nullptr) throw TraceError(path, 0, "is in no known trace format");
    return *found;
}

}  // namespace kernelpoint
