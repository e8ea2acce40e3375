#include "fast_model/cache.h"

#include <algorithm>

#include "fast_model/config.h"

namespace kernelpoint::fast_model {
namespace {

const CacheLine* find_in(const CacheLine* first, uint32_t used, uint64_t line) {
    const CacheLine* const end = first + used;
    const CacheLine* const found = std::find_if(first, end, [line](const CacheLine& l) { return l.line == line; });
    return found == end ? nullptr : found;
}

LineChange afterwards(const CacheLine& line) {
    return {line.line, line.valid, static_cast<uint8_t>(line.dirty), 0, 0, Role::used};
}

void set_before(LineChange& change, const CacheLine& line) {
    change.valid_before = static_cast<uint8_t>(line.valid);
    change.dirty_before = static_cast<uint8_t>(line.dirty);
}

bool was(const LineChange& change, const CacheLine& line) {
    return change.line == line.line && change.valid_before == line.valid && change.dirty_before == line.dirty;
}

bool stands_for(const LineChange& change, const CacheLine& line) {
    if (change.role == Role::used) return was(change, line);
    return change.role == Role::other || count_sectors(change.dirty_before) == count_sectors(line.dirty);
}

CacheLine line_of(const LineChange& change) {
    return {change.line, change.valid, 0, change.dirty};
}

uint64_t as_number(const CacheLine& line) {
    return line.line << 8 | line.valid << 4 | line.dirty;
}

}  // namespace

Cache::Cache(uint64_t bytes, uint32_t ways)
    : ways_(ways), index_(bytes / kLineBytes / ways), sets_(index_.divisor()), lines_(lines()) {}

void Cache::set_size(uint64_t bytes) {
    index_ = Modulo(bytes / kLineBytes / ways_);
    clear();
}

void Cache::settle() {
    for (CacheLine& line : lines_) line.fill_at = 0;
}

void Cache::record() {
    ++recording_;
    kept_.clear();
    kept_lines_.clear();
}

void Cache::keep(uint64_t set) {
    Set& state = sets_[set];
    state.recording = recording_;
    state.touched = 0;
    state.replaced = state.lost = false;
    const auto first = lines_.begin() + static_cast<std::ptrdiff_t>(set * ways_);
    kept_.push_back({static_cast<uint32_t>(set), state.used, kept_lines_.size()});
    kept_lines_.insert(kept_lines_.end(), first, first + state.used);
}

StateChange Cache::recorded() const {
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

// Counts every line that left as used where a used one was lost: which of them it was is not known.
void Cache::add_before(const Kept& kept, StateChange& change) const {
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

size_t Cache::misfit(const StateChange& change, size_t begin) const {
    const size_t count = change.sets.size();
    for (size_t i = 0, at = begin < count ? begin : 0; i < count; ++i, at = at + 1 == count ? 0 : at + 1) {
        const SetChange& set = change.sets[at];
        if (!fits(set, change.lines.data() + set.first)) return at;
    }
    return count;
}

bool Cache::fits(const SetChange& set, const LineChange* lines) const {
    return set.replaced ? fits_places(set, lines) : fits_used(set, lines);
}

bool Cache::fits_places(const SetChange& set, const LineChange* lines) const {
    const CacheLine* const present = &lines_[uint64_t{set.set} * ways_];
    const LineChange* const after = lines + set.before;
    const auto has_come = [&](const LineChange& line) {
        return line.valid_before == 0 && find_in(present, set.before, line.line) != nullptr;
    };
    return used(set.set) == set.before && std::equal(lines, after, present, stands_for) &&
           std::none_of(after, after + set.after, has_come);
}

bool Cache::fits_used(const SetChange& set, const LineChange* lines) const {
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

void Cache::apply(const StateChange& change) {
    std::vector<CacheLine> others;
    for (const SetChange& set : change.sets) {
        const LineChange* const before = change.lines.data() + set.first;
        const LineChange* const after = before + set.before;
        CacheLine* const present = &lines_[uint64_t{set.set} * ways_];
        others.clear();
        for (uint32_t i = 0; i < used(set.set); ++i) {
            const auto is_it = [&](const LineChange& line) { return line.line == present[i].line; };
            const bool stays =
                set.replaced ? before[i].role == Role::other : std::none_of(after, after + set.after, is_it);
            if (stays) others.push_back(present[i]);
        }
        std::transform(after, after + set.after, present, line_of);
        std::copy(others.begin(), others.end(), present + set.after);
        sets_[set.set] = {epoch_, recording_, static_cast<uint16_t>(set.after + others.size()), 0, false, false};
    }
}

void Cache::apply_nearly(const StateChange& change) {
    std::vector<CacheLine> others;
    for (const SetChange& set : change.sets) {
        const LineChange* const after = change.lines.data() + set.first + set.before;
        CacheLine* const present = &lines_[uint64_t{set.set} * ways_];
        others.clear();
        for (uint32_t i = 0; i < used(set.set); ++i) {
            const auto is_it = [&](const LineChange& line) { return line.line == present[i].line; };
            if (std::none_of(after, after + set.after, is_it)) others.push_back(present[i]);
        }
        others.resize(std::min<size_t>(others.size(), ways_ - set.after));
        std::transform(after, after + set.after, present, line_of);
        std::copy(others.begin(), others.end(), present + set.after);
        sets_[set.set] = {epoch_, recording_, static_cast<uint16_t>(set.after + others.size()), 0, false, false};
    }
}

StreamHash Cache::hash_of_set(uint32_t set) const {
    const CacheLine* const first = &lines_[uint64_t{set} * ways_];
    const uint32_t held = used(set);
    StreamHasher hasher;
    hasher.add(set, held);
    for (uint32_t i = 0; i + 1 < held; i += 2) hasher.add(as_number(first[i]), as_number(first[i + 1]));
    if (held % 2 == 1) hasher.add(as_number(first[held - 1]), 0);
    return hasher.finish();
}

}  // namespace kernelpoint::fast_model
