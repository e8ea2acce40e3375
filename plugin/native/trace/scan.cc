#include "native/trace/scan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <string_view>

#include "native/trace/interruption.h"
#include "native/trace/lines.h"
#include "native/trace/numbers.h"
#include "native/trace/paths.h"
#include "native/trace/sectors.h"
#include "native/trace/threads.h"
#include "native/trace/trace.h"

namespace kernelpoint {

namespace {

constexpr uint64_t window_size = 16 << 20;  // of shared memory in the generic address space

uint64_t pair(uint32_t first, uint32_t second) {
    return uint64_t{second} << 32 | first;
}
uint32_t pair16(Register first, Register second) {
    return uint32_t{second} << 16 | first;
}

StreamHash hash_text(const std::string& text) {
    StreamHasher hasher;
    for (size_t i = 0; i < text.size(); i += 8) {
        uint64_t word = 0;
        for (size_t j = i; j < std::min(i + 8, text.size()); ++j) word = word << 8 | static_cast<unsigned char>(text[j]);
        hasher.add(word, text.size());
    }
    return hasher.finish();
}

constexpr uint64_t null_page = 4096;  // no allocation begins below

class Scanner {
public:
    explicit Scanner(const LaunchHeader& header) : header_(header) {
        hasher_.add(pair(header.grid.x, header.grid.y), pair(header.grid.z, header.block.x));
        hasher_.add(pair(header.block.y, header.block.z), pair(header.shared_memory, header.registers));
    }
    void add(const Cta& cta, const std::vector<Opcode>& opcodes) {
        learn(opcodes);
        hasher_.add(pair(cta.index.x, cta.index.y), pair(cta.index.z, static_cast<uint32_t>(cta.warps.size())));
        add_cluster(cta.cluster);
        add_bulk_copies(cta);
        add_values(cta);
        check_index(cta.index);
        ++work.ctas;
        work.warps += cta.warps.size();
        defects.missing_warps += header_.warps_per_cta() - std::min<uint64_t>(header_.warps_per_cta(), cta.warps.size());
        bool has_barriers = false;
        work.instructions += cta.instructions.size();
        for (const Warp& warp : cta.warps) {
            ++warp_;
            hasher_.add(warp.id, warp.instruction_count);
            work.unread_instructions += warp.unread;
            defects.empty_warps += warp.instruction_count == 0 ? 1 : 0;
            uint32_t exited = 0;  // lanes
            bool exits = false;
            const Instruction* first = cta.instructions.data() + warp.first_instruction;
            for (const Instruction* i = first; i != first + warp.instruction_count; ++i) {
                OpcodeFacts& facts = facts_[i->opcode];
                const uint64_t operands = uint64_t{i->width} << 16 | uint64_t{i->destination_count} << 8 | i->source_count;
                const uint64_t registers =
                    pair(pair16(i->destinations[0], i->destinations[1]), pair16(i->sources[0], i->sources[1]));
                hasher_.add(pair(i->pc, i->active_mask), facts.hash ^ operands);
                hasher_.add(registers, pair(pair16(i->sources[2], i->sources[3]), pair16(i->sources[4], i->sources[5])));
                work.thread_instructions += static_cast<uint64_t>(__builtin_popcount(i->active_mask));
                ++work.by_unit[facts.unit];
                ++facts.count;
                defects.after_exit += (i->active_mask & exited) != 0 ? 1 : 0;
                if (facts.is_exit) exited |= i->active_mask;
                exits |= facts.is_exit;
                has_barriers |= facts.is_barrier;
                if (i->address_count > 0)
                    add_access(*i, cta.addresses.data() + i->first_address);
                else
                    defects.zero_addresses += facts.needs_address && i->active_mask != 0 ? 1 : 0;
            }
            defects.missing_exits += warp.instruction_count > 0 && !exits ? 1 : 0;
        }
        if (has_barriers) check_barriers(cta);
    }
    Work work;
    Defects defects;
    StreamHash stream() const { return hasher_.finish(); }
    StreamHash values() const { return has_values_ ? values_hasher_.finish() : StreamHash(); }
    std::map<std::string, uint64_t> unknown_opcodes(const std::vector<Opcode>& opcodes) const {
        std::map<std::string, uint64_t> counts;
        for (size_t i = 0; i < facts_.size(); ++i)
            if (opcodes[i].unit == Unit::other && facts_[i].count > 0) counts[opcodes[i].text] += facts_[i].count;
        return counts;
    }

private:
    void learn(const std::vector<Opcode>& opcodes) {
        while (facts_.size() < opcodes.size()) {
            const Opcode& opcode = opcodes[facts_.size()];
            facts_.push_back({hash_text(opcode.text).low, static_cast<size_t>(opcode.unit), opcode.space, opcode.is_bulk_copy,
                              opcode.base == "BAR" && opcode.text.find(".ARV") == std::string::npos, opcode.is_exit,
                              opcode.unit == Unit::control, opcode.base == "LDG" || opcode.base == "STG", 0});
        }
    }
    void add_cluster(const Cluster& cluster) {
        const Dim3& cta = cluster.cta;
        if ((cta.x | cta.y | cta.z | cluster.rank) != 0) hasher_.add(pair(cta.x, cta.y), pair(cta.z, cluster.rank));
    }
    void add_bulk_copies(const Cta& cta) {
        for (const BulkCopy& copy : cta.bulk_copies) {
            const Instruction& instruction = cta.instructions[copy.instruction];
            hasher_.add(pair(instruction.address_count, copy.multicast), copy.bytes);
            hasher_.add(copy.bytes_outside, 0);
            if (instruction.address_count > 0) work.bytes += copy.bytes - std::min(copy.bytes, copy.bytes_outside);
        }
    }
    void add_values(const Cta& cta) {
        if (cta.operand_values.empty()) return;
        has_values_ = true;
        values_hasher_.add(cta.operand_values.size(), cta.values.size());
        for (const OperandValues& entry : cta.operand_values) values_hasher_.add(entry.instruction, entry.per_lane);
        for (size_t i = 0; i < cta.values.size(); i += 2)
            values_hasher_.add(cta.values[i], i + 1 < cta.values.size() ? cta.values[i + 1] : 0);
    }
    void add_access(const Instruction& instruction, const uint64_t* addresses) {
        const uint32_t count = instruction.address_count;
        const MemorySpace space = facts_[instruction.opcode].space;
        uint32_t sectors = 0;
        if (is_shared(space, addresses[0])) {
            ++work.shared_accesses;
        } else if (space != MemorySpace::constant) {
            sectors = count_sectors(addresses, count, instruction.width);
            ++work.global_accesses;
            work.sectors += sectors;
            if (addresses[0] < null_page && (space == MemorySpace::global || space == MemorySpace::generic))
                ++defects.zero_addresses;
            if (!facts_[instruction.opcode].is_bulk_copy) work.bytes += uint64_t{count} * instruction.width;
        }
        const uint64_t stride = count > 1 ? addresses[1] - addresses[0] : 0;
        bool regular = true;
        for (uint32_t i = 1; i < count; ++i) regular &= addresses[i] - addresses[i - 1] == stride;
        hasher_.add(pair(sectors, regular ? 1 : 0), distance_from_previous(instruction.pc, addresses[0]));
        if (regular) return hasher_.add(stride, 0);
        for (uint32_t i = 1; i < count; i += 2)
            hasher_.add(addresses[i] - addresses[0], i + 1 < count ? addresses[i + 1] - addresses[0] : 0);
    }
    void check_index(const Dim3& index) {
        constexpr uint64_t most = uint64_t{1} << 28;  // places that are remembered: 32 MiB
        const uint64_t place = (uint64_t{index.z} * header_.grid.y + index.y) * header_.grid.x + index.x;
        if (place >= most) return;
        if (place >= seen_.size()) seen_.resize(std::min(most, std::max<uint64_t>(2 * place, 1024)));
        defects.repeated_ctas += seen_[place] ? 1 : 0;
        seen_[place] = true;
    }
    // Model: all warps of a CTA wait at a barrier as often, but those that have exited. Of a warp's lanes the one that
    // waits most often counts. A warp that waits less often has exited unless it runs code behind the barrier. Kernels
    // from sm_90 on let some warps wait at barriers of their own, and are not looked at.
    void check_barriers(const Cta& cta) {
        constexpr uint32_t own_barriers = 90;
        if (header_.binary_version >= own_barriers) return;
        std::map<uint32_t, Waits> waits;  // by PC
        std::vector<uint32_t> last_pc(cta.warps.size());
        for (size_t w = 0; w < cta.warps.size(); ++w) {
            const Instruction* first = cta.instructions.data() + cta.warps[w].first_instruction;
            for (const Instruction* i = first; i != first + cta.warps[w].instruction_count; ++i) {
                const OpcodeFacts& facts = facts_[i->opcode];
                if (!facts.is_control) last_pc[w] = std::max(last_pc[w], i->pc);
                if (!facts.is_barrier) continue;
                Waits& here = waits[i->pc];
                here.resize(cta.warps.size());
                for (uint32_t lane = 0; lane < 32; ++lane) here[w][lane] += i->active_mask >> lane & 1;
            }
        }
        std::vector<bool> lacks(cta.warps.size());
        for (const auto& [pc, here] : waits) {
            std::vector<uint32_t> times(here.size());
            for (size_t w = 0; w < here.size(); ++w) times[w] = *std::max_element(here[w].begin(), here[w].end());
            const uint32_t most = *std::max_element(times.begin(), times.end());
            for (size_t w = 0; w < here.size(); ++w)
                if (times[w] < most && last_pc[w] > pc) lacks[w] = true;
        }
        defects.missing_barriers += static_cast<uint64_t>(std::count(lacks.begin(), lacks.end(), true));
    }
    uint64_t distance_from_previous(uint32_t pc, uint64_t address) {
        const size_t slot = pc >> 4 & 0xffff;
        if (slot >= previous_.size()) previous_.resize(std::max<size_t>({64, slot + 1, 2 * previous_.size()}));
        Previous& previous = previous_[slot];
        const bool repeated = previous.warp == warp_ && previous.pc == pc;
        const uint64_t distance = repeated ? address - previous.address : 0;
        previous = {warp_, address, pc};
        return distance;
    }
    bool is_shared(MemorySpace space, uint64_t address) const {
        return space == MemorySpace::shared || (space == MemorySpace::generic && address - header_.shared_base < window_size);
    }

    struct OpcodeFacts {
        uint64_t hash;
        size_t unit;
        MemorySpace space;
        bool is_bulk_copy, is_barrier, is_exit, is_control, needs_address;  // is_barrier: of all warps of a CTA
        uint64_t count;
    };
    // Of a CTA and a barrier's PC: how often each warp's lanes waited there.
    using Waits = std::vector<std::array<uint32_t, 32>>;
    struct Previous {
        uint64_t warp = 0, address = 0;
        uint32_t pc = 0;
    };

    const LaunchHeader& header_;
    StreamHasher hasher_, values_hasher_;
    bool has_values_ = false;
    std::vector<OpcodeFacts> facts_;
    std::vector<Previous> previous_;  // by PC / 16, growing
    uint64_t warp_ = 0;               // serial number of the warp being read
    std::vector<bool> seen_;          // CTAs by their place in the grid
};

}  // namespace

std::string StreamHash::hex() const {
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(high),
                  static_cast<unsigned long long>(low));
    return text;
}

namespace {

// Hashes text that comes in pieces of any length.
class TextHasher {
public:
    void add(std::string_view text) {
        bytes_ += text.size();
        if (filled_ > 0) {
            const size_t taken = std::min(text.size(), sizeof unit_ - filled_);
            std::memcpy(unit_ + filled_, text.data(), taken);
            filled_ += taken;
            text.remove_prefix(taken);
            if (filled_ < sizeof unit_) return;
            add_unit(unit_);
            filled_ = 0;
        }
        for (; text.size() >= sizeof unit_; text.remove_prefix(sizeof unit_)) add_unit(text.data());
        std::memcpy(unit_, text.data(), text.size());
        filled_ = text.size();
    }
    Content finish() {
        std::memset(unit_ + filled_, 0, sizeof unit_ - filled_);
        add_unit(unit_);
        hasher_.add(bytes_, 0);
        return {hasher_.finish(), bytes_, no_kernel_id};
    }

private:
    void add_unit(const char* unit) {
        uint64_t words[2];
        std::memcpy(words, unit, sizeof words);
        hasher_.add(words[0], words[1]);
    }

    StreamHasher hasher_;
    char unit_[16];
    size_t filled_ = 0;
    uint64_t bytes_ = 0;
};

// Header lines that no reading depends on; the launch's number goes to `kernel_id`. A line that lacks its number is part of
// the content, so that it is refused.
bool says_nothing(std::string_view line, uint64_t& kernel_id) {
    const bool is_id = starts_with(line, "-kernel id");
    const size_t equals = line.find('=');
    if ((!is_id && !starts_with(line, "-cuda stream id")) || equals == line.npos || line.back() != '\n') return false;
    const char* p = line.data() + equals + 1;
    uint64_t id = 0;
    int64_t stream = 0;
    if (!(is_id ? parse_decimal(p, id) : parse_signed(p, stream))) return false;
    skip_blanks(p);
    if (*p != '\n') return false;
    if (is_id) kernel_id = id;
    return true;
}

}  // namespace

bool has_content(const std::string& path) {
    const size_t at = path.rfind(".traceg");
    if (at == std::string::npos) return false;
    const std::string ending = path.substr(at);
    return ending == ".traceg" || ending == ".traceg.gz" || ending == ".traceg.xz" || ending == ".traceg.zst";
}

Content content_of(const std::string& path, std::shared_ptr<RegularFile> file) {
    TextHasher hasher;
    uint64_t kernel_id = no_kernel_id;
    Input input(path, std::move(file));
    bool in_header = true;
    uint64_t line = 0;
    const char *begin = nullptr, *end = nullptr;
    while (input.next_block(begin, end, line)) {
        interruption_point();
        std::string_view block(begin, static_cast<size_t>(end - begin));
        while (in_header && !block.empty()) {
            const std::string_view text = block.substr(0, block.find('\n') + 1);
            in_header = text[0] != '#';
            if (!says_nothing(text, kernel_id)) hasher.add(text);
            block.remove_prefix(text.size());
        }
        hasher.add(block);
    }
    Content content = hasher.finish();
    content.kernel_id = kernel_id;
    return content;
}

Scan scan_trace(const std::string& path, std::shared_ptr<RegularFile> file) {
    const auto reader = open_trace(path, true, std::move(file));
    Scanner scanner(reader->header());
    Cta cta;
    while (reader->next(cta)) {
        interruption_point();
        scanner.add(cta, reader->opcodes());
    }
    return {reader->header(),
            scanner.stream(),
            scanner.values(),
            scanner.work,
            scanner.defects,
            scanner.unknown_opcodes(reader->opcodes()),
            reader->store_data_left_out()};
}

bool MetContents::add(const StreamHash& content) {
    const std::lock_guard<std::mutex> held(mutex_);
    return met_.emplace(content.high, content.low).second;
}

std::vector<ScanResult> scan_traces(const std::vector<std::string>& paths, unsigned threads, MetContents& met,
                                    const std::function<void(uint64_t)>& report) {
    std::vector<ScanResult> results(paths.size());
    const auto scan_one = [&](uint64_t i) {
        const std::string& path = paths[i];
        std::shared_ptr<RegularFile> file;
        try {
            if (has_content(path)) {
                file = std::make_shared<RegularFile>(path);
                results[i].content = content_of(path, file);
            }
        } catch (const std::exception&) {  // who parses it will say so
        }
        if (results[i].content && !met.add(results[i].content->hash)) return;
        try {
            results[i].scan = scan_trace(path, file);
        } catch (const std::exception& error) {  // TraceError, or out of memory
            results[i].error = error.what();
        }
    };
    in_parallel(paths.size(), threads, scan_one, report);
    return results;
}

}  // namespace kernelpoint
