#include "simulators/macsim/trace/list.h"

#include <unordered_map>

#include "native/trace/paths.h"
#include "simulators/macsim/trace/launch.h"

namespace kernelpoint::macsim {

namespace {

// "Kernel7/trace.txt" of ".../Kernel7/trace.txt"; empty where the line names nothing like it.
std::string launch_in(const std::string& line) {
    const size_t last = line.rfind('/');
    if (!is_launch(line) || last == std::string::npos || last == 0) return {};
    const size_t before = line.rfind('/', last - 1);
    return before == std::string::npos ? std::string() : line.substr(before + 1);
}

}  // namespace

bool is_launch(const std::string& path) {
    constexpr std::string_view name = "trace.txt";
    return ends_with(path, name) && (path.size() == name.size() || path[path.size() - name.size() - 1] == '/');
}

TraceList read_list(Lines& lines) {
    const std::string folder = folder_of(lines.path());
    for (const char* expected : {"nvbit", "14", "-1"}) {
        if (lines.text() != expected) lines.fail_expected(std::string("'") + expected + "'");
        lines.consume_text();
    }
    TraceList list;
    std::unordered_map<std::string, SharedText> known;
    for (; lines.peek() != nullptr; lines.consume_text()) {
        const std::string line(lines.text());
        if (line.empty()) continue;
        const std::string launch = launch_in(line);
        if (launch.empty()) lines.fail_expected("'./Kernel<N>/trace.txt'");
        if (!is_inside(launch)) lines.fail("the trace " + launch.substr(0, 200) + lies_outside);
        std::string trace = folder + launch;
        const auto [shared, added] = known.try_emplace(trace);
        if (added && !is_file(trace)) lines.fail("the trace " + trace + " does not exist");
        uint64_t number = 0;
        const bool is_numbered = launch_number(trace, number);
        if (added) shared->second = std::move(trace);
        list.commands.push_back(
            {TraceList::Kind::launch, shared->second, 0, 0, is_numbered ? static_cast<int64_t>(number) : -1});
        ++list.launches;
    }
    if (list.launches == 0)
        throw TraceError(lines.path(), 0, "expected at least one line that names a launch (./Kernel<N>/trace.txt)");
    return list;
}

}  // namespace kernelpoint::macsim
