// A set-associative tag array with 128-byte lines of four 32-byte sectors, least recently used line replaced.
#pragma once

#include <cstdint>
#include <cstring>
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

// Brings the set up to date with clear().
inline uint64_t Cache::set_of(uint64_t line) {
    const uint64_t set = index_.remainder(line);
    if (sets_[set].epoch != epoch_) sets_[set] = {epoch_, 0};
    return set;
}

inline CacheLine& Cache::find_or_replace(uint64_t line, uint32_t& evicted_dirty) {
    evicted_dirty = 0;
    const uint64_t set = set_of(line);
    CacheLine* found = find(set, line);
    return found != nullptr ? *found : replace(set, line, evicted_dirty);
}

inline CacheLine* Cache::find(uint64_t set, uint64_t line) {
    const Set& state = sets_[set];
    CacheLine* const first = &lines_[set * ways_];
    uint32_t position = 0;
    while (position < state.used && first[position].line != line) ++position;
    if (position == state.used) return nullptr;
    if (position > 0) {
        const CacheLine found = first[position];
        std::memmove(first + 1, first, position * sizeof *first);
        *first = found;
    }
    return first;
}

inline CacheLine& Cache::replace(uint64_t set, uint64_t line, uint32_t& evicted_dirty) {
    Set& state = sets_[set];
    CacheLine* const first = &lines_[set * ways_];
    if (state.used < ways_) {
        ++state.used;
    } else {
        evicted_dirty = count_sectors(first[ways_ - 1].dirty);
    }
    std::memmove(first + 1, first, (state.used - size_t{1}) * sizeof *first);
    *first = {line, 0, 0, 0};
    return *first;
}

inline void Cache::prefetch(uint64_t line) const {
    const CacheLine* first = &lines_[index_.remainder(line) * ways_];
    constexpr uint32_t step = 64 / sizeof(CacheLine);
    for (uint32_t way = 0; way < ways_; way += step) __builtin_prefetch(first + way, 1);
}

}  // namespace kernelpoint::fast_model
