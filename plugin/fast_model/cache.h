// A set-associative tag array with 128-byte lines of four 32-byte sectors, least recently used line replaced.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "fast_model/counters.h"
#include "fast_model/modulo.h"
#include "native/trace/stream_hash.h"

namespace kernelpoint::fast_model {

// Number of sectors in a mask of four. The compiler's popcount would be a function call on a plain x86-64.
inline uint32_t count_sectors(uint64_t mask) {
    return (0x4332322132212110ull >> (4 * (mask & 15))) & 15;
}

struct CacheLine {
    uint64_t line : 60;     // address / 128
    uint64_t valid : 4;     // bit per sector
    uint64_t fill_at : 60;  // when the last sector asked for arrives: an access before then waits for it
    uint64_t dirty : 4;     // bit per sector
};

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

// Lines of a set that a launch used, last used first. If it replaced lines, all lines that were there are listed,
// because then their order matters too.
struct SetChange {
    uint32_t set = 0;
    uint32_t first = 0;  // in StateChange::lines
    uint16_t before = 0, after = 0;
    bool replaced = false;
};

// Change of a cache by a launch, recorded so that it can be tested whether the launch would do the same in another
// state.
struct StateChange {
    std::vector<SetChange> sets;
    std::vector<LineChange> lines;

    uint64_t bytes() const { return sets.size() * sizeof(SetChange) + lines.size() * sizeof(LineChange); }
};

// The lines of a set lie side by side in order of their last use, 16 bytes each: a lookup reads neighbouring memory,
// which can be asked for beforehand, and a replacement takes the last.
class Cache {
public:
    Cache(uint64_t bytes, uint32_t ways);

    // Looks up a line by its tag and counts this as a use; null if it is missing. Some sectors may still be invalid.
    // The result is valid until the next lookup.
    CacheLine* find(uint64_t line) { return find(set_of(line), line); }
    // Valid sectors of a line, 0 if it is missing. Does not count as a use.
    uint64_t valid_sectors(uint64_t line);
    // Looks up a line; if it is missing, it replaces the least recently used line of its set. `evicted_dirty` receives
    // the number of dirty sectors of the replaced line.
    CacheLine& find_or_replace(uint64_t line, uint32_t& evicted_dirty);
    // Asks the processor to load what a lookup will read.
    void prefetch(uint64_t line) const;
    void clear() { ++epoch_; }
    // Marks all requested data as arrived.
    void settle();
    // Sets the size, at most that with which the cache was built. The contents are lost.
    void set_size(uint64_t bytes);
    uint64_t lines() const { return index_.divisor() * ways_; }

    // Begins to record: the state of each set before its first use is kept, and used lines are marked.
    void record();
    // Changes of the cache since record().
    StateChange recorded() const;
    // Index in change.sets of the first set (searched from `begin` on, cyclically) whose state differs from that at
    // the recorded change in anything the change depends on; the number of sets if there is none. Then the change
    // would repeat exactly. It depends on used lines and free ways; if lines were replaced, also on the order of all
    // lines and on dirty sectors.
    size_t misfit(const StateChange& change, size_t begin) const;
    // Repeats a recorded change.
    void apply(const StateChange& change);
    // Moves the lines used in a recorded change to the front, whether or not the change fits the present state.
    void apply_nearly(const StateChange& change);

    uint32_t sets() const { return static_cast<uint32_t>(sets_.size()); }
    // Hash of the lines of a set in their order, with valid and dirty sectors.
    StreamHash hash_of_set(uint32_t set) const;

private:
    struct Set {
        uint32_t epoch = 0;      // of the last clear() that this set has seen
        uint32_t recording = 0;  // of the last record() that this set has seen
        uint16_t used = 0;       // lines that hold a tag, from the front
        uint16_t touched = 0;    // of those, lines that were used since record(): they lie in front
        bool replaced = false;   // a line, since record(); `lost`: one that had been used since
        bool lost = false;
    };
    struct Kept {
        uint32_t set;
        uint16_t used;
        uint64_t first;  // in kept_lines_
    };

    uint64_t set_of(uint64_t line);
    void keep(uint64_t set);
    CacheLine* find(uint64_t set, uint64_t line);
    CacheLine& replace(uint64_t set, uint64_t line, uint32_t& evicted_dirty);
    uint32_t used(uint64_t set) const { return sets_[set].epoch == epoch_ ? sets_[set].used : 0; }
    void add_before(const Kept& kept, StateChange& change) const;
    bool fits(const SetChange& set, const LineChange* lines) const;
    bool fits_places(const SetChange& set, const LineChange* lines) const;
    bool fits_used(const SetChange& set, const LineChange* lines) const;

    const uint32_t ways_;
    Modulo index_;  // of a line's set
    uint32_t epoch_ = 1, recording_ = 0;
    std::vector<Set> sets_;
    std::vector<CacheLine> lines_;
    std::vector<Kept> kept_;  // sets as they were at record(), in the order of their first use since
    std::vector<CacheLine> kept_lines_;
};

// Index of a line's set, after the set is brought up to date with clear() and record().
inline uint64_t Cache::set_of(uint64_t line) {
    const uint64_t set = index_.remainder(line);
    Set& state = sets_[set];
    if (state.epoch != epoch_) state = {epoch_, 0, 0, 0, false, false};
    if (state.recording != recording_) keep(set);
    return set;
}

inline uint64_t Cache::valid_sectors(uint64_t line) {
    const uint64_t set = set_of(line);
    const CacheLine* const first = &lines_[set * ways_];
    for (uint32_t way = 0; way < sets_[set].used; ++way)
        if (first[way].line == line) return first[way].valid;
    return 0;
}

inline CacheLine& Cache::find_or_replace(uint64_t line, uint32_t& evicted_dirty) {
    evicted_dirty = 0;
    const uint64_t set = set_of(line);
    CacheLine* found = find(set, line);
    return found != nullptr ? *found : replace(set, line, evicted_dirty);
}

inline CacheLine* Cache::find(uint64_t set, uint64_t line) {
    Set& state = sets_[set];
    CacheLine* const first = &lines_[set * ways_];
    uint32_t position = 0;
    while (position < state.used && first[position].line != line) ++position;
    if (position == state.used) return nullptr;
    if (position >= state.touched) ++state.touched;
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
        state.replaced = true;
    }
    if (state.touched < ways_) {
        ++state.touched;
    } else {
        state.lost = true;
    }
    std::memmove(first + 1, first, (state.used - size_t{1}) * sizeof *first);
    *first = {line, 0, 0, 0};
    return *first;
}

inline void Cache::prefetch(uint64_t line) const {
    const uint64_t set = index_.remainder(line);
    __builtin_prefetch(&sets_[set], 1);
    const CacheLine* first = &lines_[set * ways_];
    constexpr uint32_t step = 64 / sizeof(CacheLine);
    for (uint32_t way = 0; way < ways_; way += step) __builtin_prefetch(first + way, 1);
}

}  // namespace kernelpoint::fast_model
