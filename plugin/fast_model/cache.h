// A set-associative tag array with 128-byte lines of four 32-byte sectors, least recently used line replaced.
#pragma once

#include <cstdint>
#include <vector>

#include "fast_model/counters.h"
#include "fast_model/modulo.h"

namespace kernelpoint::fast_model {

// The number of sectors in a mask of four; the compiler's popcount is a function call on a plain x86-64.
inline uint32_t count_sectors(uint64_t mask) {
    return (0x4332322132212110ull >> (4 * (mask & 15))) & 15;
}

struct CacheLine {
    uint64_t line : 60;     // address / 128
    uint64_t valid : 4;     // bit per sector
    uint64_t fill_at : 60;  // when the last sector asked for arrives: an access before then waits for it
    uint64_t dirty : 4;     // bit per sector
};

// The lines of a set lie side by side in order of their last use, 16 bytes each: a lookup reads neighbouring memory,
// which can be asked for beforehand, and a replacement takes the last.
class Cache {
public:
    Cache(uint64_t bytes, uint32_t ways);

    // The line if its tag is present (some sectors may still be missing), else null. Counts as a use. What is returned
    // is valid until the next lookup.
    CacheLine* find(uint64_t line) { return find(set_of(line), line); }
    // The line, replacing the least recently used of its set if need be. `evicted_dirty` receives the number of dirty
    // sectors that leave with the replaced line.
    CacheLine& find_or_replace(uint64_t line, uint32_t& evicted_dirty);
    // Asks the machine for what a lookup will read.
    void prefetch(uint64_t line) const;
    void clear() { ++epoch_; }
    // Makes it smaller than it was built, or as large again; what it holds is lost.
    void set_size(uint64_t bytes);
    uint64_t lines() const { return index_.divisor() * ways_; }

private:
    struct Set {
        uint32_t epoch = 0;  // of the last clear() that this set has seen
        uint32_t used = 0;   // lines that hold a tag, from the front
    };

    uint64_t set_of(uint64_t line);
    CacheLine* find(uint64_t set, uint64_t line);
    CacheLine& replace(uint64_t set, uint64_t line, uint32_t& evicted_dirty);

    const uint32_t ways_;
    Modulo index_;  // of a line's set
    uint32_t epoch_ = 1;
    std::vector<Set> sets_;
    std::vector<CacheLine> lines_;
};

}  // namespace kernelpoint::fast_model
