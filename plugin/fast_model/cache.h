// A set-associative tag array with 128-byte lines of four 32-byte sectors, least recently used line replaced.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "fast_model/config.h"
#include "native/trace/stream_hash.h"

namespace kernelpoint::fast_model {

// Remainders by a divisor that is fixed: a multiplication instead of a division.
class Modulo {
public:
    explicit Modulo(uint64_t divisor)
        : divisor_(divisor),
          shift_((divisor & (divisor - 1)) == 0 ? __builtin_ctzll(divisor) : -1),
          inverse_(UINT64_MAX / divisor) {}

    uint64_t divisor() const { return divisor_; }
    uint64_t quotient(uint64_t value) const {
        if (shift_ >= 0) return value >> shift_;
        // The inverse is too small by less than two parts in 2^64: the product is right or one too small.
        const auto guess = static_cast<uint64_t>((static_cast<unsigned __int128>(value) * inverse_) >> 64);
        return guess + (value - guess * divisor_ >= divisor_ ? 1 : 0);
    }
    uint64_t remainder(uint64_t value) const { return value - quotient(value) * divisor_; }

private:
    uint64_t divisor_;
    int shift_;
    uint64_t inverse_;
};

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

inline const CacheLine* find_in(const CacheLine* first, uint32_t used, uint64_t line) {
    const CacheLine* const end = first + used;
    const CacheLine* const found = std::find_if(first, end, [line](const CacheLine& l) { return l.line == line; });
    return found == end ? nullptr : found;
}

inline LineChange afterwards(const CacheLine& line) {
    return {line.line, line.valid, static_cast<uint8_t>(line.dirty), 0, 0, Role::used};
}

inline void set_before(LineChange& change, const CacheLine& line) {
    change.valid_before = static_cast<uint8_t>(line.valid);
    change.dirty_before = static_cast<uint8_t>(line.dirty);
}

inline bool was(const LineChange& change, const CacheLine& line) {
    return change.line == line.line && change.valid_before == line.valid && change.dirty_before == line.dirty;
}

inline bool stands_for(const LineChange& change, const CacheLine& line) {
    if (change.role == Role::used) return was(change, line);
    return change.role == Role::other || count_sectors(change.dirty_before) == count_sectors(line.dirty);
}

inline CacheLine line_of(const LineChange& change) {
    return {change.line, change.valid, 0, change.dirty};
}

inline uint64_t as_number(const CacheLine& line) {
    return line.line << 8 | line.valid << 4 | line.dirty;
}

// The lines of a set lie side by side in order of their last use, 16 bytes each: a lookup reads neighbouring memory,
// which can be asked for beforehand, and a replacement takes the last.
class Cache {
public:
    Cache(uint64_t bytes, uint32_t ways)
        : ways_(ways), index_(bytes / kLineBytes / ways), sets_(index_.divisor()), lines_(lines()) {}

    // Looks up a line by its tag and counts this as a use; null if it is missing. Some sectors may still be invalid.
    // The result is valid until the next lookup.
    CacheLine* find(uint64_t line) { return find(set_of(line), line); }
    // Valid sectors of a line, 0 if it is missing. Does not count as a use.
    uint64_t valid_sectors(uint64_t line) {
        const uint64_t set = set_of(line);
        const CacheLine* const first = &lines_[set * ways_];
        for (uint32_t way = 0; way < sets_[set].used; ++way)
            if (first[way].line == line) return first[way].valid;
        return 0;
    }
    // Looks up a line; if it is missing, it replaces the least recently used line of its set. `evicted_dirty` receives
    // the number of dirty sectors of the replaced line.
    CacheLine& find_or_replace(uint64_t line, uint32_t& evicted_dirty) {
        evicted_dirty = 0;
        const uint64_t set = set_of(line);
        CacheLine* found = find(set, line);
        return found != nullptr ? *found : replace(set, line, evicted_dirty);
    }
    // Asks the processor to load what a lookup will read.
    void prefetch(uint64_t line) const {
        const uint64_t set = index_.remainder(line);
        __builtin_prefetch(&sets_[set], 1);
        const CacheLine* first = &lines_[set * ways_];
        constexpr uint32_t step = 64 / sizeof(CacheLine);
        for (uint32_t way = 0; way < ways_; way += step) __builtin_prefetch(first + way, 1);
    }
    void clear() { ++epoch_; }
    // Marks all requested data as arrived.
    void settle() {
        for (CacheLine& line : lines_) line.fill_at = 0;
    }
    // Sets the size, at most that with which the cache was built. The contents are lost.
    void set_size(uint64_t bytes) {
        index_ = Modulo(bytes / kLineBytes / ways_);
        clear();
    }
    uint64_t lines() const { return index_.divisor() * ways_; }

    // Begins to record: the state of each set before its first use is kept, and used lines are marked.
    void record() {
        ++recording_;
        kept_.clear();
        kept_lines_.clear();
    }
    // Changes of the cache since record().
    StateChange recorded() const {
        StateChange change;
        change.sets.reserve(kept_.size());
        for (const Kept& kept : kept_) {
            const Set& state = sets_[kept.set];
            const CacheLine* const before = kept_lines_.data() + kept.first;
            const CacheLine* const after = &lines_[uint64_t{kept.set} * ways_];
            SetChange set{kept.set, static_cast<uint32_t>(change.lines.size()), 0, state.touched, state.replaced};
            if (state.replaced) {
                set.before = kept.used;
                add_before(kept, change);
            }
            for (uint32_t i = 0; i < set.after; ++i) {
                change.lines.push_back(afterwards(after[i]));
                const CacheLine* const old = find_in(before, kept.used, after[i].line);
                if (old != nullptr) set_before(change.lines.back(), *old);
            }
            change.sets.push_back(set);
        }
        change.lines.shrink_to_fit();
        return change;
    }
    // Index in change.sets of the first set (searched from `begin` on, cyclically) whose state differs from that at
    // the recorded change in anything the change depends on; the number of sets if there is none. Then the change
    // would repeat exactly. It depends on used lines and free ways; if lines were replaced, also on the order of all
    // lines and on dirty sectors.
    size_t misfit(const StateChange& change, size_t begin) const {
        const size_t count = change.sets.size();
        for (size_t i = 0, at = begin < count ? begin : 0; i < count; ++i, at = at + 1 == count ? 0 : at + 1) {
            const SetChange& set = change.sets[at];
            if (!fits(set, change.lines.data() + set.first)) return at;
        }
        return count;
    }
    // Moves the lines used in a recorded change to the front: repeats the change where it fits the present state.
    void apply(const StateChange& change) {
        std::vector<CacheLine> others;  // those not used, as many as there is room for: least recently used ones go
        for (const SetChange& set : change.sets) {
            const LineChange* const after = change.lines.data() + set.first + set.before;
            CacheLine* const present = &lines_[uint64_t{set.set} * ways_];
            others.clear();
            for (uint32_t i = 0; i < used(set.set) && others.size() + set.after < ways_; ++i) {
                const auto is_it = [&](const LineChange& line) { return line.line == present[i].line; };
                if (std::none_of(after, after + set.after, is_it)) others.push_back(present[i]);
            }
            std::transform(after, after + set.after, present, line_of);
            std::copy(others.begin(), others.end(), present + set.after);
            sets_[set.set] = {epoch_, recording_, static_cast<uint16_t>(set.after + others.size()), 0, false, false};
        }
    }

    uint32_t sets() const { return static_cast<uint32_t>(sets_.size()); }
    // Hash of the lines of a set in their order, with valid and dirty sectors.
    StreamHash hash_of_set(uint32_t set) const {
        const CacheLine* const first = &lines_[uint64_t{set} * ways_];
        const uint32_t held = used(set);
        StreamHasher hasher;
        hasher.add(set, held);
        for (uint32_t i = 0; i + 1 < held; i += 2) hasher.add(as_number(first[i]), as_number(first[i + 1]));
        if (held % 2 == 1) hasher.add(as_number(first[held - 1]), 0);
        return hasher.finish();
    }

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

    // Index of a line's set, after the set is brought up to date with clear() and record().
    uint64_t set_of(uint64_t line) {
        const uint64_t set = index_.remainder(line);
        Set& state = sets_[set];
        if (state.epoch != epoch_) state = {epoch_, 0, 0, 0, false, false};
        if (state.recording != recording_) keep(set);
        return set;
    }
    void keep(uint64_t set) {
        Set& state = sets_[set];
        state.recording = recording_;
        state.touched = 0;
        state.replaced = state.lost = false;
        const auto first = lines_.begin() + static_cast<std::ptrdiff_t>(set * ways_);
        kept_.push_back({static_cast<uint32_t>(set), state.used, kept_lines_.size()});
        kept_lines_.insert(kept_lines_.end(), first, first + state.used);
    }
    CacheLine* find(uint64_t set, uint64_t line) {
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
    CacheLine& replace(uint64_t set, uint64_t line, uint32_t& evicted_dirty) {
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
    uint32_t used(uint64_t set) const { return sets_[set].epoch == epoch_ ? sets_[set].used : 0; }
    // Counts every line that left as used where a used one was lost: which of them it was is not known.
    void add_before(const Kept& kept, StateChange& change) const {
        const Set& state = sets_[kept.set];
        const CacheLine* const after = &lines_[uint64_t{kept.set} * ways_];
        for (uint32_t i = 0; i < kept.used; ++i) {
            const CacheLine& line = kept_lines_[kept.first + i];
            const CacheLine* const now = find_in(after, state.used, line.line);
            const bool is_used = now != nullptr ? now - after < state.touched : state.lost;
            change.lines.push_back({line.line, 0, 0, 0, 0, Role::used});
            set_before(change.lines.back(), line);
            if (!is_used) change.lines.back().role = now != nullptr ? Role::other : Role::replaced;
        }
    }
    bool fits(const SetChange& set, const LineChange* lines) const {
        return set.replaced ? fits_places(set, lines) : fits_used(set, lines);
    }
    bool fits_places(const SetChange& set, const LineChange* lines) const {
        const CacheLine* const present = &lines_[uint64_t{set.set} * ways_];
        const LineChange* const after = lines + set.before;
        const auto has_come = [&](const LineChange& line) {
            return line.valid_before == 0 && find_in(present, set.before, line.line) != nullptr;
        };
        return used(set.set) == set.before && std::equal(lines, after, present, stands_for) &&
               std::none_of(after, after + set.after, has_come);
    }
    bool fits_used(const SetChange& set, const LineChange* lines) const {
        const CacheLine* const present = &lines_[uint64_t{set.set} * ways_];
        const uint32_t held = used(set.set);
        uint32_t filled = held;
        for (uint32_t i = 0; i < set.after; ++i) {
            const CacheLine* const found = find_in(present, held, lines[i].line);
            if (found == nullptr ? lines[i].valid_before != 0 : !was(lines[i], *found)) return false;
            filled += found == nullptr;
        }
        return filled <= ways_;
    }

    const uint32_t ways_;
    Modulo index_;  // of a line's set
    uint32_t epoch_ = 1, recording_ = 0;
    std::vector<Set> sets_;
    std::vector<CacheLine> lines_;
    std::vector<Kept> kept_;  // sets as they were at record(), in the order of their first use since
    std::vector<CacheLine> kept_lines_;
};

}  // namespace kernelpoint::fast_model
