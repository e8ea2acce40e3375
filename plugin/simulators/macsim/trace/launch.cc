#include "simulators/macsim/trace/launch.h"

#include <algorithm>
#include <unordered_map>

#include "native/trace/lines.h"
#include "native/trace/numbers.h"
#include "simulators/macsim/trace/names.h"
#include "simulators/macsim/trace/opcodes.h"

namespace kernelpoint::macsim {

namespace {

constexpr uint64_t most_warps = most_ctas * 32;

// The numbers of a line and nothing else.
template <size_t count>
void read_numbers(Lines& lines, uint64_t (&numbers)[count], const std::string& expected) {
    const char* p = lines.peek();
    bool well_formed = p != nullptr;
    for (size_t i = 0; well_formed && i < count; ++i) well_formed = parse_decimal(p, numbers[i]);
    if (well_formed) skip_blanks(p);
    if (!well_formed || *p != '\n') lines.fail_expected(expected);
    lines.consume(p + 1);
}

void skip_end(Lines& lines) {
    for (; lines.peek() != nullptr; lines.consume_text())
        if (!lines.text().empty()) lines.fail_expected("the end of the file");
}

std::vector<WarpEntry> read_warps(const std::string& path) {
    Lines lines(path);
    if (lines.text() != "nvbit") lines.fail_expected("'nvbit'");
    lines.consume_text();
    if (lines.text() != "14") lines.fail_expected("the trace version, 14");
    lines.consume_text();
    uint64_t one[1], pair[2];
    read_numbers(lines, one, "a number of CTAs per core");
    read_numbers(lines, one, "a number of warps");
    const uint64_t count = one[0];
    if (count < 1 || count > most_warps)
        throw TraceError(path, lines.number(),
                         "expected 1 to " + std::to_string(most_warps) + " warps, found " + std::to_string(count));
    std::vector<WarpEntry> warps;
    while (warps.size() < count) {
        read_numbers(lines, pair,
                     "warp " + std::to_string(warps.size() + 1) + " of " + std::to_string(count) + ", '<id> 0'");
        if (pair[0] / warps_per_cta_id >= most_ctas || pair[0] % warps_per_cta_id >= 32)
            throw TraceError(path, lines.number(),
                             "expected a warp's id (CTA * 65536 + warp, below 32768 CTAs of 32 warps), found " +
                                 std::to_string(pair[0]));
        warps.push_back({static_cast<uint32_t>(pair[0]), 0});
    }
    skip_end(lines);
    std::sort(warps.begin(), warps.end(), [](const WarpEntry& a, const WarpEntry& b) { return a.id < b.id; });
    for (size_t i = 1; i < warps.size(); ++i)
        if (warps[i].id == warps[i - 1].id)
            throw TraceError(path, 0, "warp " + std::to_string(warps[i].id) + " occurs twice");
    return warps;
}

void read_counts(const std::string& path, std::vector<WarpEntry>& warps) {
    Lines lines(path);
    std::unordered_map<uint64_t, uint64_t> counts;
    while (lines.peek() != nullptr) {
        if (lines.text().empty()) {
            lines.consume_text();
            continue;
        }
        uint64_t pair[2];
        read_numbers(lines, pair, "a warp's id and its number of instructions");
        if (!counts.emplace(pair[0], pair[1]).second)
            throw TraceError(path, lines.number(), "warp " + std::to_string(pair[0]) + " occurs twice");
    }
    for (WarpEntry& warp : warps) {
        const auto found = counts.find(warp.id);
        if (found == counts.end())
            throw TraceError(path, 0, "expected a line for warp " + std::to_string(warp.id) + ", found none");
        warp.records = found->second;
    }
}

void take_shape_from_warps(LaunchHeader& header, const std::vector<WarpEntry>& warps) {
    uint32_t largest = 0;
    for (const WarpEntry& warp : warps) largest = std::max(largest, warp.id % warps_per_cta_id + 1);
    header.grid.x = warps.back().id / warps_per_cta_id + 1;
    header.block.x = 32 * largest;
}

std::string beside(const std::string& folder, const std::string& name) {
    const size_t slash = folder.rfind('/');
    return slash == std::string::npos ? name : folder.substr(0, slash + 1) + name;
}

}  // namespace

bool launch_number(const std::string& path, uint64_t& number) {
    const size_t end = path.rfind('/');
    if (end == std::string::npos || end == 0) return false;
    const size_t before = path.rfind('/', end - 1), begin = before == std::string::npos ? 0 : before + 1;
    const std::string name = path.substr(begin, end - begin) + "\n";
    const char* p = name.c_str() + 6;
    return name.compare(0, 6, "Kernel") == 0 && *p >= '0' && *p <= '9' && parse_decimal(p, number) && *p == '\n';
}

LaunchFiles read_launch(const std::string& path) {
    LaunchFiles files;
    const size_t slash = path.rfind('/');
    files.folder = slash == std::string::npos ? "." : path.substr(0, slash);
    files.warps = read_warps(path);
    read_counts(files.folder + "/trace_info.txt", files.warps);
    uint64_t number = 0;
    const bool is_numbered = launch_number(path, number);
    if (!is_numbered || !find_named_launch(beside(files.folder, "kernel_names.txt"), number, files.header))
        take_shape_from_warps(files.header, files.warps);
    files.header.kernel_id = number;
    const LaunchHeader& header = files.header;
    for (const WarpEntry& warp : files.warps)
        if (warp.id / warps_per_cta_id >= header.grid.count() || warp.id % warps_per_cta_id >= header.warps_per_cta())
            throw TraceError(path, 0,
                             "warp " + std::to_string(warp.id) +
                                 " lies outside the launch that kernel_names.txt names, " +
                                 std::to_string(header.grid.count()) + " CTAs of " +
                                 std::to_string(header.warps_per_cta()) + " warps");
    return files;
}

}  // namespace kernelpoint::macsim
