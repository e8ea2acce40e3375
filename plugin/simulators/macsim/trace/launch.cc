#include "simulators/macsim/trace/launch.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "native/trace/lines.h"
#include "native/trace/numbers.h"
#include "native/trace/paths.h"
#include "simulators/macsim/trace/record.h"

namespace kernelpoint::macsim {

namespace {

using Names = std::unordered_map<uint64_t, LaunchHeader>;

void read_shape(Lines& lines, LaunchHeader& header) {
    const std::string line(lines.text());
    unsigned long long n[10] = {};
    int end = 0;
    const int found = sscanf(line.c_str(),
                             "Grid size: (%10llu, %10llu, %10llu), Block size: (%10llu, %10llu, %10llu), "
                             "maxBlockPerCore: %10llu, # of regs: %10llu, static shared mem: %10llu, "
                             "dynamic shared mem: %10llu%n",
                             &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &n[8], &n[9], &end);
    constexpr unsigned long long most[10] = {INT32_MAX, UINT16_MAX, UINT16_MAX, 1024,      1024,
                                             1024,      UINT32_MAX, UINT16_MAX, INT32_MAX, INT32_MAX};
    const bool is_launch = found == 10 && std::equal(n, n + 10, most, std::less_equal<>()) && std::count(n, n + 6, 0) == 0 &&
                           !isdigit(static_cast<unsigned char>(line[static_cast<size_t>(end)]));
    header.grid = {static_cast<uint32_t>(n[0]), static_cast<uint32_t>(n[1]), static_cast<uint32_t>(n[2])};
    header.block = {static_cast<uint32_t>(n[3]), static_cast<uint32_t>(n[4]), static_cast<uint32_t>(n[5])};
    if (!is_launch || header.block.count() > 1024)
        lines.fail_expected(
            "'Grid size: (x, y, z), Block size: (x, y, z), maxBlockPerCore: n, # of regs: n, static shared mem: n, "
            "dynamic shared mem: n'");
    header.registers = static_cast<uint32_t>(n[7]);
    header.shared_memory = static_cast<uint32_t>(n[8] + n[9]);
    lines.consume_text();
}

std::shared_ptr<const Names> read_names(const std::string& path) {
    auto names = std::make_shared<Names>();
    Lines lines(path);
    while (lines.peek() != nullptr) {
        const std::string line(lines.text());
        if (line.empty()) {
            lines.consume_text();
            continue;
        }
        unsigned long long number = 0;
        int begin = 0;
        if (sscanf(line.c_str(), "Kernel%10llu name:%n", &number, &begin) != 1 || begin == 0 || number > UINT32_MAX)
            lines.fail_expected("'Kernel<N> name: ' and a kernel's name");
        std::string name = line.substr(static_cast<size_t>(begin));
        name.erase(0, name.find_first_not_of(" \t"));
        for (const char c : name)
            if (c < ' ' || c > '~') lines.fail_expected("a kernel's name in printable ASCII");
        lines.consume_text();
        LaunchHeader header;
        header.kernel_name = name;
        read_shape(lines, header);
        names->emplace(number, std::move(header));  // a tracer that appends to an earlier run's file repeats numbers
    }
    return names;
}

// Fills name, grid, block, registers and shared memory of launch `number` from kernel_names.txt; false where there is
// no such file, or no such launch in it. The file read last is kept, as all launches of a list ask for the same one.
// Throws TraceError.
bool find_named_launch(const std::string& path, uint64_t number, LaunchHeader& header) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) return false;
    static std::mutex mutex;
    static std::string kept_path;
    static struct timespec kept_time;
    static off_t kept_size;
    static std::shared_ptr<const Names> kept;
    std::shared_ptr<const Names> names;
    {
        const std::lock_guard<std::mutex> lock(mutex);
        const bool is_kept = kept != nullptr && kept_path == path && kept_size == status.st_size &&
                             kept_time.tv_sec == status.st_mtim.tv_sec && kept_time.tv_nsec == status.st_mtim.tv_nsec;
        if (!is_kept) {
            kept = read_names(path);
            kept_path = path;
            kept_size = status.st_size;
            kept_time = status.st_mtim;
        }
        names = kept;
    }
    const auto found = names->find(number);
    if (found == names->end()) return false;
    header = found->second;
    return true;
}

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
    if (lines.text() != "nvbit") lines.fail("expected 'nvbit'");  // not quoted: a link may lead to any file
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
        read_numbers(lines, pair, "warp " + std::to_string(warps.size() + 1) + " of " + std::to_string(count) + ", '<id> 0'");
        if (pair[0] / warps_per_cta_id >= most_ctas || pair[0] % warps_per_cta_id >= 32)
            throw TraceError(
                path, lines.number(),
                "expected a warp's id (CTA * 65536 + warp, below 32768 CTAs of 32 warps), found " + std::to_string(pair[0]));
        warps.push_back({static_cast<uint32_t>(pair[0]), 0});
    }
    skip_end(lines);
    std::sort(warps.begin(), warps.end(), [](const WarpEntry& a, const WarpEntry& b) { return a.id < b.id; });
    for (size_t i = 1; i < warps.size(); ++i)
        if (warps[i].id == warps[i - 1].id) throw TraceError(path, 0, "warp " + std::to_string(warps[i].id) + " occurs twice");
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
    if (!is_numbered || !find_named_launch(folder_of(files.folder) + "kernel_names.txt", number, files.header))
        take_shape_from_warps(files.header, files.warps);
    files.header.kernel_id = number;
    const LaunchHeader& header = files.header;
    for (const WarpEntry& warp : files.warps)
        if (warp.id / warps_per_cta_id >= header.grid.count() || warp.id % warps_per_cta_id >= header.warps_per_cta())
            throw TraceError(path, 0,
                             "warp " + std::to_string(warp.id) + " lies outside the launch that kernel_names.txt names, " +
                                 std::to_string(header.grid.count()) + " CTAs of " + std::to_string(header.warps_per_cta()) +
                                 " warps");
    return files;
}

}  // namespace kernelpoint::macsim
