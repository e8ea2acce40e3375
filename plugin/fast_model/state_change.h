// Change of a cache by a launch, in a form that tells in which other states it would do the very same.
#pragma once

#include <cstdint>
#include <vector>

namespace kernelpoint::fast_model {

// Role of a line in a launch.
enum class Role : uint8_t {
    used,      // it matters which line it is, and which of its sectors were valid and dirty
    replaced,  // by another; it matters how many of its sectors were dirty
    other      // it stayed where it was behind those that were used
};

struct LineChange {
    uint64_t line : 60;
    uint64_t valid : 4;                  // afterwards
    uint8_t dirty;                       // afterwards
    uint8_t valid_before, dirty_before;  // 0 where it was not there
    Role role;
};

// The lines of a set that a launch used, last used first. Where it replaced lines, all that were there come before
// them, for then their places matter too.
struct SetChange {
    uint32_t set = 0;
    uint32_t first = 0;  // in StateChange::lines
    uint16_t before = 0, after = 0;
    bool replaced = false;
};

struct StateChange {
    std::vector<SetChange> sets;
    std::vector<LineChange> lines;

    uint64_t bytes() const { return sets.size() * sizeof(SetChange) + lines.size() * sizeof(LineChange); }
};

}  // namespace kernelpoint::fast_model
