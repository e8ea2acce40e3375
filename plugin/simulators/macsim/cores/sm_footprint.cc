#include "simulators/macsim/cores/sm_footprint.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace kernelpoint::replay::macsim {
namespace {

struct Hash {
    size_t operator()(const LineTouch& place) const {
        const uint64_t who = uint64_t{place.sm} << 2 | static_cast<uint64_t>(place.path);
        return std::hash<uint64_t>()(place.line ^ who << 48);
    }
};

struct SamePlace {
    bool operator()(const LineTouch& a, const LineTouch& b) const { return a.is_same_place(b); }
};

class Builder {
public:
    Builder(const LaunchCode& code, const Residency& residency) : code_(code) {
        const uint32_t sms = std::max<uint32_t>(residency.sms, 1);
        uint64_t warps = 0;
        while (warps < code.warps.size() && code.warps[warps].cta == code.warps[0].cta) ++warps;
        slots_.assign(sms, Slots(ctas_at_once(residency, warps)));
    }

    // Adds the CTA that begins with this warp; returns the first warp behind it.
    size_t add_cta(size_t warp) {
        const uint32_t cta = code_.warps[warp].cta;
        sm_ = static_cast<uint16_t>(cta % slots_.size());
        const uint64_t start = slots_[sm_].take();
        uint64_t end = start;
        for (; warp < code_.warps.size() && code_.warps[warp].cta == cta; ++warp)
            end = std::max(end, run(code_.warps[warp], start));
        slots_[sm_].give(end);
        ++footprint_.grid.ctas;
        return warp;
    }

    Footprint finish() {
        std::vector<std::pair<uint64_t, LineTouch>> order;
        order.reserve(lines_.size());
        for (const auto& [touch, step] : lines_) order.emplace_back(step.second, merged(touch, step.first));
        std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
            const auto key = [](const auto& entry) {
                return std::make_tuple(entry.first, entry.second.line, entry.second.sm, entry.second.path);
            };
            return key(a) < key(b);
        });
        for (const auto& entry : order) footprint_.touches.push_back(entry.second);
        return std::move(footprint_);
    }

private:
    struct Masks {
        uint8_t read = 0, written = 0;
    };

    uint64_t run(const WarpCode& warp, uint64_t step) {
        bool fetches = true;
        for (uint32_t i = warp.first; i < warp.first + warp.count; ++i, ++step) {
            const WarpInstruction& instruction = code_.instructions[i];
            if (fetches) fetch(instruction.pc, step);
            fetches = leads_elsewhere(instruction.action);
            for (uint32_t l = 0; l < instruction.line_count; ++l)
                access(code_.lines[instruction.first_line + l], instruction.action, step);
            if (instruction.action == Action::load) step += kMemorySteps;
        }
        return step;
    }

    void fetch(uint64_t pc, uint64_t step) {
        const auto sector = static_cast<uint8_t>(1u << pc % kLineBytes / kSectorBytes);
        at(pc / kLineBytes, Path::fetch, step).read |= sector;
    }

    void access(uint64_t address, Action action, uint64_t step) {
        const Path path = action == Action::store_around ? Path::around : Path::data;
        Masks& masks = at(address / kLineBytes, path, step);
        (action == Action::load ? masks.read : masks.written) |= kAllSectors;
    }

    Masks& at(uint64_t line, Path path, uint64_t step) {
        LineTouch place;
        place.line = line;
        place.sm = sm_;
        place.path = path;
        auto& entry = lines_[place];
        entry.second = std::max(entry.second, step);
        return entry.first;
    }

    static LineTouch merged(LineTouch touch, const Masks& masks) {
        touch.touched = masks.read | masks.written;
        touch.written = masks.written;
        touch.filled = touch.touched;
        return touch;
    }

    static constexpr uint8_t kAllSectors = 0xf;
    const LaunchCode& code_;
    std::vector<Slots> slots_;
    uint16_t sm_ = 0;
    std::unordered_map<LineTouch, std::pair<Masks, uint64_t>, Hash, SamePlace> lines_;
    Footprint footprint_;
};

}  // namespace

uint64_t ctas_at_once(const Residency& residency, uint64_t warps) {
    const uint64_t most = residency.ctas_of_sm(warps, 0, 0);
    return most == UINT32_MAX ? 1 : most;
}

Footprint footprint_of(const LaunchCode& code, const Residency& residency) {
    Builder builder(code, residency);
    for (size_t warp = 0; warp < code.warps.size();) warp = builder.add_cta(warp);
    return builder.finish();
}

}  // namespace kernelpoint::replay::macsim
