#include "native/replay/seen_lines.h"

namespace kernelpoint::replay {
namespace {

constexpr uint8_t kAllSectors = 0xf;

// Spreads lines over slots (the finaliser of MurmurHash3, public domain).
uint64_t mix(uint64_t x) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
    return x ^ x >> 33;
}

}  // namespace

void SeenLines::clear() {
    lines_ = 0;
    if (++round_ != 0) return;
    slots_.assign(slots_.size(), Slot{});
    round_ = 1;
}

bool SeenLines::add(const Touch& older) {
    Slot& slot = insert(older.line);
    const uint8_t touched = slot.touched, written = slot.written, filled = slot.filled;
    // Nothing that was before a copy is left of a line.
    slot.touched |= older.copied ? kAllSectors : older.touched;
    slot.written |= older.copied ? kAllSectors : older.written;
    slot.filled |= older.copied ? kAllSectors : older.filled;
    return (older.touched & ~touched) != 0 || (older.written & ~written) != 0 || (older.filled & ~filled) != 0;
}

SeenLines::Slot& SeenLines::insert(uint64_t line) {
    Slot* slot = &slot_of(line);
    if (slot->round == round_) return *slot;
    if (2 * ++lines_ > slots_.size()) {
        grow();
        slot = &slot_of(line);
    }
    *slot = Slot{line, round_, 0, 0, 0};
    return *slot;
}

SeenLines::Slot& SeenLines::slot_of(uint64_t line) {
    const uint64_t mask = slots_.size() - 1;
    uint64_t i = mix(line) & mask;
    while (slots_[i].round == round_ && slots_[i].line != line) i = (i + 1) & mask;
    return slots_[i];
}

void SeenLines::grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
        if (slot.round == round_) slot_of(slot.line) = slot;
    }
}

}  // namespace kernelpoint::replay
