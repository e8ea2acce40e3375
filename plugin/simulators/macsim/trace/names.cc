#include "simulators/macsim/trace/names.h"

#include <sys/stat.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "native/trace/lines.h"
#include "native/trace/numbers.h"

namespace kernelpoint::macsim {

namespace {

using Names = std::unordered_map<uint64_t, LaunchHeader>;

// The decimal number behind `label`, which may end at any character; false where there is none.
bool number_behind(const std::string& line, const std::string& label, size_t& from, uint64_t limit, uint64_t& number) {
    const size_t found = line.find(label, from);
    if (found == std::string::npos) return false;
    size_t at = found + label.size();
    while (at < line.size() && is_blank(line[at])) ++at;
    const size_t first = at;
    for (number = 0; at < line.size() && line[at] >= '0' && line[at] <= '9' && number <= limit; ++at)
        number = number * 10 + static_cast<uint64_t>(line[at] - '0');
    from = at;
    return at > first && number <= limit;
}

bool read_dimensions(const std::string& line, const std::string& label, size_t& from, Dim3& dimensions) {
    uint64_t x = 0, y = 0, z = 0;
    const bool found = number_behind(line, label + " (", from, INT32_MAX, x) &&
                       number_behind(line, ",", from, UINT16_MAX, y) && number_behind(line, ",", from, UINT16_MAX, z);
    dimensions = {static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)};
    return found && x >= 1 && y >= 1 && z >= 1;
}

void read_shape(Lines& lines, LaunchHeader& header) {
    const std::string line(lines.text());
    size_t from = 0;
    uint64_t ctas, registers, fixed, dynamic;
    const bool well_formed = read_dimensions(line, "Grid size:", from, header.grid) &&
                             read_dimensions(line, "Block size:", from, header.block) &&
                             number_behind(line, "maxBlockPerCore:", from, UINT32_MAX, ctas) &&
                             number_behind(line, "# of regs:", from, UINT16_MAX, registers) &&
                             number_behind(line, "static shared mem:", from, INT32_MAX, fixed) &&
                             number_behind(line, "dynamic shared mem:", from, INT32_MAX, dynamic);
    if (!well_formed || header.block.count() > 1024)
        lines.fail_expected(
            "'Grid size: (x, y, z), Block size: (x, y, z), maxBlockPerCore: n, # of regs: n, static shared mem: n, "
            "dynamic shared mem: n'");
    header.registers = static_cast<uint32_t>(registers);
    header.shared_memory = static_cast<uint32_t>(fixed + dynamic);
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
        size_t from = 0;
        uint64_t number;
        constexpr char label[] = " name:";
        if (line.compare(0, 6, "Kernel") != 0 || !number_behind(line, "Kernel", from, UINT32_MAX, number) ||
            line.compare(from, sizeof label - 1, label) != 0)
            lines.fail_expected("'Kernel<N> name: ' and a kernel's name");
        std::string name = line.substr(from + sizeof label - 1);
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

}  // namespace

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

}  // namespace kernelpoint::macsim
