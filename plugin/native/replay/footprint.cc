#include "native/replay/footprint.h"

#include <algorithm>
#include <unordered_map>

#include "native/registered.h"
#include "native/replay/replay.h"
#include "native/replay/varint.h"
#include "native/trace/format.h"

namespace kernelpoint::replay {

namespace {

constexpr uint64_t kSharedWindow = uint64_t{1} << 24;
constexpr uint32_t kWholeSector = UINT32_MAX;

enum class Access : uint8_t { none, load, store, atomic };

Access access_of(const Opcode& opcode) {
    if (opcode.space != MemorySpace::global && opcode.space != MemorySpace::generic) return Access::none;
    if (opcode.is_atomic) return Access::atomic;
    if (opcode.is_load) return Access::load;
    return opcode.is_store ? Access::store : Access::none;
}

class Builder {
public:
    Builder(const LaunchHeader& header, uint64_t slots) : header_(header), slots_(slots) {}

    void add(const Cta& cta, const std::vector<Opcode>& opcodes) {
        for (size_t i = accesses_.size(); i < opcodes.size(); ++i) accesses_.push_back(access_of(opcodes[i]));
        const uint64_t start = slots_.take();
        uint64_t end = start;
        for (const Warp& warp : cta.warps) {
            const uint64_t ended = run(warp, cta, start);
            if (ended >= end) footprint_.grid.last_warp = warp.id;
            end = std::max(end, ended);
        }
        slots_.give(end);
        ++footprint_.grid.ctas;
    }

    Footprint finish() {
        std::vector<Last> order;
        order.reserve(lines_.size());
        for (const auto& entry : lines_) add_touches(entry.first, entry.second, order);
        std::sort(order.begin(), order.end(), [](const Last& a, const Last& b) {
            return std::make_pair(a.step, a.touch.line) < std::make_pair(b.step, b.touch.line);
        });
        footprint_.grid.warps = static_cast<uint32_t>(header_.warps_per_cta());
        footprint_.touches.reserve(order.size());
        for (const Last& last : order) footprint_.touches.push_back(last.touch);
        return std::move(footprint_);
    }

private:
    struct Line {
        uint64_t step[4] = {};  // of the last touch of each sector
        uint8_t loaded = 0, written = 0;
        uint32_t bytes[4] = {};       // written ones of each sector
        uint64_t near_until[4] = {};  // the value of `loads_` at which each sector has left the L1
    };

    struct Last {
        uint64_t step;
        LineTouch touch;
    };

    // Returns the step behind the warp's last one.
    uint64_t run(const Warp& warp, const Cta& cta, uint64_t step) {
        loads_ += kNearSectors;  // nothing of the warp before is near
        const Instruction* instruction = cta.instructions.data() + warp.first_instruction;
        const Instruction* const end = instruction + warp.instruction_count;
        for (; instruction != end; ++instruction, ++step) {
            const Access access = accesses_[instruction->opcode];
            if (access == Access::none || instruction->address_count == 0) continue;
            const uint64_t* addresses = cta.addresses.data() + instruction->first_address;
            if (is_shared(addresses[0])) continue;
            for (uint32_t i = 0; i < instruction->address_count; ++i) {
                touch(addresses[i], std::max<uint64_t>(instruction->width, 1), access, step);
            }
            if (access != Access::store) step += kMemorySteps;
        }
        return step;
    }

    bool is_shared(uint64_t address) const {
        return header_.shared_base != 0 && address >= header_.shared_base && address - header_.shared_base < kSharedWindow;
    }

    void touch(uint64_t address, uint64_t width, Access access, uint64_t step) {
        const uint64_t end = address + width;
        while (address < end) {
            const uint64_t next = std::min(end, (address / kSectorBytes + 1) * kSectorBytes);
            Line& line = line_at(address / kLineBytes);
            const uint32_t sector = address % kLineBytes / kSectorBytes;
            const bool is_near = access == Access::load && line.near_until[sector] > loads_;
            if (!is_near) line.step[sector] = std::max(line.step[sector], step);
            if (access == Access::load) line.near_until[sector] = (is_near ? loads_ : ++loads_) + kNearSectors;
            if (access != Access::store) line.loaded |= 1u << sector;
            if (access != Access::load) {
                line.written |= 1u << sector;
                const uint64_t size = next - address;
                const uint32_t bytes = size == kSectorBytes ? kWholeSector : (1u << size) - 1;
                line.bytes[sector] |= bytes << (address % kSectorBytes);
            }
            address = next;
        }
    }

    Line& line_at(uint64_t line) {
        if (last_ != nullptr && last_line_ == line) return *last_;
        last_line_ = line;
        last_ = &lines_[line];
        return *last_;
    }

    // Sectors that were touched last in the same step make one touch.
    static void add_touches(uint64_t number, const Line& line, std::vector<Last>& order) {
        const uint8_t touched = line.loaded | line.written;
        for (uint32_t first = 0, done = 0; first < 4; ++first) {
            if (((touched & ~done) >> first & 1) == 0) continue;
            Last last = {line.step[first], {}};
            last.touch.line = number;
            for (uint32_t sector = first; sector < 4; ++sector)
                if (line.step[sector] == last.step) last.touch.touched |= touched & 1u << sector;
            last.touch.written = last.touch.touched & line.written;
            last.touch.filled = last.touch.touched & filled(line);
            done |= last.touch.touched;
            order.push_back(last);
        }
    }

    static uint8_t filled(const Line& line) {
        uint8_t sectors = line.loaded;
        for (uint32_t sector = 0; sector < 4; ++sector)
            if (line.bytes[sector] == kWholeSector) sectors |= 1u << sector;
        return sectors;
    }

    const LaunchHeader& header_;
    Slots slots_;
    std::vector<Access> accesses_;  // by opcode
    std::unordered_map<uint64_t, Line> lines_;
    uint64_t loads_ = 0;  // of sectors that were not near
    uint64_t last_line_ = 0;
    Line* last_ = nullptr;  // elements of an unordered_map do not move
    Footprint footprint_;
};

}  // namespace

uint64_t Residency::resident_ctas(const LaunchHeader& launch) const {
    const uint64_t warps = std::max<uint64_t>(launch.warps_per_cta(), 1);
    if (sms == 0) return 1;
    return std::min<uint64_t>(ctas_of_sm(warps, warps * 32 * launch.registers, launch.shared_memory) * sms,
                              std::max<uint64_t>(launch.grid.count(), 1));
}

Footprint read_footprint(const std::string& trace_path, const Residency& residency) {
    const auto reader = open_trace(trace_path);
    Builder builder(reader->header(), residency.resident_ctas(reader->header()));
    Cta cta;
    while (reader->next(cta)) builder.add(cta, reader->opcodes());
    return builder.finish();
}

namespace {

// The masks that most lines have, in the two low bits of a line's first number; else the masks follow it.
enum Kind : uint64_t { kRead = 0, kWritten = 1, kOther = 2 };

Kind kind_of(const LineTouch& touch) {
    if (touch.sm != 0 || touch.path != Path::data) return kOther;
    if (touch.touched != 0xf || touch.filled != 0xf) return kOther;
    return touch.written == 0 ? kRead : touch.written == 0xf ? kWritten : kOther;
}

uint64_t others_of(const LineTouch& touch) {
    return touch.touched | touch.written << 4 | touch.filled << 8 | static_cast<uint64_t>(touch.path) << 12 |
           uint64_t{touch.sm} << 14;
}

bool set_others(uint64_t others, uint64_t line, LineTouch& touch) {
    const auto path = others >> 12 & 3;
    if (others >> 30 != 0 || path > static_cast<uint64_t>(Path::around)) return false;
    touch = {line,
             static_cast<uint8_t>(others & 15),
             static_cast<uint8_t>(others >> 4 & 15),
             static_cast<uint8_t>(others >> 8 & 15),
             static_cast<uint16_t>(others >> 14),
             static_cast<Path>(path)};
    return true;
}

bool get(Bytes& bytes, Grid& grid) {
    uint64_t warps = 0, last_warp = 0;
    if (!bytes.get(grid.ctas) || !bytes.get(warps) || !bytes.get(last_warp)) return false;
    grid.warps = static_cast<uint32_t>(warps);
    grid.last_warp = static_cast<uint32_t>(last_warp);
    return warps <= UINT32_MAX && last_warp <= UINT32_MAX;
}

bool get(Bytes& bytes, uint64_t& line, LineTouch& touch) {
    uint64_t number = 0, masks = 0;
    if (!bytes.get(number)) return false;
    line += static_cast<uint64_t>(unfold(number >> 2));
    switch (number & 3) {
        case kRead:
            touch = {line, 0xf, 0, 0xf, 0, Path::data};
            return true;
        case kWritten:
            touch = {line, 0xf, 0xf, 0xf, 0, Path::data};
            return true;
        case kOther:
            return bytes.get(masks) && set_others(masks, line, touch);
        default:
            return false;
    }
}

}  // namespace

std::string pack(const Footprint& footprint) {
    std::string bytes;
    put(bytes, footprint.grid.ctas);
    put(bytes, footprint.grid.warps);
    put(bytes, footprint.grid.last_warp);
    put(bytes, footprint.touches.size());
    uint64_t before = 0;
    for (const LineTouch& touch : footprint.touches) {
        const Kind kind = kind_of(touch);
        put(bytes, fold(static_cast<int64_t>(touch.line - before)) << 2 | kind);  // lines have 57 bits, so two more fit
        if (kind == kOther) put(bytes, others_of(touch));
        before = touch.line;
    }
    bytes.shrink_to_fit();
    return bytes;
}

bool unpack(const std::string& packed, Footprint& footprint) {
    Bytes bytes(packed);
    uint64_t count = 0, line = 0;
    if (!get(bytes, footprint.grid) || !bytes.get(count) || count > packed.size()) return false;
    footprint.touches.resize(count);
    for (LineTouch& touch : footprint.touches) {
        if (!get(bytes, line, touch)) return false;
    }
    return bytes.ended();
}

const SmStateProvider& sm_state_provider(const std::string& trace_path) {
    const char* const format = format_of_launch(trace_path).name();
    const SmStateProvider* found = implementation<SmStateProvider>(format);
    if (found == nullptr)
        throw TraceError(trace_path, 0, std::string("is in the format of ") + format + ", which tells no SMs apart");
    return *found;
}

Footprint read_footprint(const std::string& trace_path, const Residency& residency, bool by_sm) {
    return by_sm ? sm_state_provider(trace_path).footprint(trace_path, residency) : read_footprint(trace_path, residency);
}

}  // namespace kernelpoint::replay
