#include "fast_model/list/sources.h"

#include <map>
#include <unordered_map>

namespace kernelpoint::fast_model {

Sources find_sources(const TraceList& list, const std::vector<Content>& contents) {
    Sources result;
    std::unordered_map<std::string_view, uint32_t> of_path;
    std::map<std::pair<uint64_t, uint64_t>, uint32_t> of_content;
    for (const TraceList::Command& command : list.commands) {
        if (command.kind != TraceList::Kind::launch) continue;
        if (command.path.empty()) {
            result.of_launch.push_back(kNoSource);
            continue;
        }
        const auto number = static_cast<uint32_t>(result.paths.size());
        const Content content = contents.empty() ? Content() : contents[result.of_launch.size()];
        const bool added = contents.empty()
                               ? of_path.emplace(command.path.get(), number).second
                               : of_content.emplace(std::make_pair(content.hash.high, content.hash.low), number).second;
        if (added) {
            result.paths.push_back(command.path);
            result.bytes.push_back(content.bytes);
        }
        result.of_launch.push_back(contents.empty() ? of_path.at(command.path.get())
                                                    : of_content.at({content.hash.high, content.hash.low}));
    }
    return result;
}

}  // namespace kernelpoint::fast_model
