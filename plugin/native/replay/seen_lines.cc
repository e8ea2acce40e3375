#include "native/replay/seen_lines.h"

#include "native/trace/mix.h"

namespace kernelpoint::replay {
namespace {

constexpr uint8_t kAllSectors = 0xf;

}  // namespace

void SeenLines::clear() {
    lines_ = 0;
    if (++round_ != 0) return;
    slots_.assign(slots_.size(), Slot{});
    round_ = 1;
}

bool SeenLines::add(const Touch& older) {
    LineTouch& seen = insert(older);
    const uint8_t touched = seen.touched, written = seen.written, filled = seen.filled;
    // Nothing that was before a copy is left of a line.
    seen.touched |= older.copied ? kAllSectors : older.touched;
    seen.written |= older.copied ? kAllSectors : older.written;
    seen.filled |= older.copied ? kAllSectors : older.filled;
    return (older.touched & ~touched) != 0 || (older.written & ~written) != 0 || (older.filled & ~filled) != 0;
}

uint8_t SeenLines::filled(const LineTouch& place) {
    const Slot& slot = slot_of(place);
    return slot.round == round_ ? slot.seen.filled : 0;
}

LineTouch& SeenLines::insert(const LineTouch& place) {
    Slot* slot = &slot_of(place);
    if (slot->round == round_) return slot->seen;
    if (2 * ++lines_ > slots_.size()) {
        grow();
        slot = &slot_of(place);
    }
    *slot = Slot{{}, round_};
    slot->seen.line = place.line;
    slot->seen.sm = place.sm;
    slot->seen.path = place.path;
    return slot->seen;
}

SeenLines::Slot& SeenLines::slot_of(const LineTouch& place) {
    const uint64_t mask = slots_.size() - 1;
    const uint64_t who = uint64_t{place.sm} << 2 | static_cast<uint64_t>(place.path);
    uint64_t i = mix(place.line ^ who << 44) & mask;
    while (slots_[i].round == round_ && !slots_[i].seen.is_same_place(place)) i = (i + 1) & mask;
    return slots_[i];
}

void SeenLines::grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
        if (slot.round == round_) slot_of(slot.seen) = slot;
    }
}

}  // namespace kernelpoint::replay
