#include "native/replay/footprint.h"
#include "native/replay/varint.h"

namespace kernelpoint::replay {
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

}  // namespace kernelpoint::replay
