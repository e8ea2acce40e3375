// The lines met on a walk from the newest touch to the oldest.
#pragma once

#include <cstdint>
#include <vector>

#include "native/replay/footprint.h"

namespace kernelpoint::replay {

// An access during a walk: a LineTouch, or a line that a copy from the host has filled.
struct Touch : LineTouch {
    bool copied = false;  // clean and filled, whatever it was before
};

// Hash table of memory lines by line, SM and path, which is emptied in constant time.
class SeenLines {
public:
    SeenLines() : slots_(1024) {}

    void clear();
    // Adds an access older than all before it; false if it adds nothing new about its line.
    bool add(const Touch& older);
    uint64_t lines() const { return lines_; }
    // Sectors of a line that the accesses so far have filled.
    uint8_t filled(const LineTouch& place);

private:
    struct Slot {
        LineTouch seen;
        uint32_t round = 0;  // the slot is free where this is not the present round
    };

    Slot& slot_of(const LineTouch& place);
    LineTouch& insert(const LineTouch& place);
    void grow();

    std::vector<Slot> slots_;  // a power of two, at most half of them taken
    uint32_t round_ = 1;
    uint64_t lines_ = 0;
};

}  // namespace kernelpoint::replay
