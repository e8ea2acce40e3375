// A set-associative tag array with 128-byte lines of four 32-byte sectors, least recently used line replaced.
#pragma once

#include <cstdint>
#include <vector>

#include "fast_model/counters.h"

namespace kernelpoint::fast_model {

// The number of sectors in a mask of four; the compiler's popcount is a function call on a plain x86-64.
inline uint32_t count_sectors(uint8_t mask) {
    return (0x4332322132212110ull >> (4 * (mask & 15))) & 15;
}

struct CacheLine {
    Cycles fill_at = 0;  // when the last sector asked for arrives: an access before then waits for it
    uint8_t valid = 0;   // bit per sector
    uint8_t dirty = 0;   // bit per sector
};

class Cache {
public:
    Cache(uint64_t bytes, uint32_t ways);

    // The line if its tag is present (some sectors may still be missing), else null. Counts as a use.
    CacheLine* find(uint64_t line);
    // The line, replacing the least recently used of its set if need be. `evicted_dirty` receives the number of dirty
    // sectors that leave with the replaced line.
    CacheLine& find_or_replace(uint64_t line, uint32_t& evicted_dirty);
    void clear();
    // Empties the least recently used lines of every set, as reading `lines` other lines would.
    void displace(uint64_t lines);
    // Lines brought in. One that comes back after displace() took it does not count: it would not have left.
    uint64_t replacements() const { return replacements_; }
    uint64_t lines() const { return tags_.size(); }

private:
    uint64_t first_of_set(uint64_t line) const { return (line % sets_) * ways_; }

    const uint32_t ways_;
    const uint64_t sets_;
    uint64_t uses_ = 0, uses_at_clear_ = 0, replacements_ = 0;
    // Apart from each other because a lookup reads all tags of a set, and a replacement all last uses.
    std::vector<uint64_t> tags_;
    std::vector<uint64_t> last_uses_;  // order of accesses, not time; 0 for never
    std::vector<CacheLine> lines_;
};

}  // namespace kernelpoint::fast_model
