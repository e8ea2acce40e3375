#include "native/trace/format.h"

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

}  // namespace kernelpoint
