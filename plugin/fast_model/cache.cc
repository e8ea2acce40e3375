#include "fast_model/cache.h"

#include <cstring>

#include "fast_model/config.h"

namespace kernelpoint::fast_model {

Cache::Cache(uint64_t bytes, uint32_t ways)
    : ways_(ways), index_(bytes / kLineBytes / ways), sets_(index_.divisor()), lines_(lines()) {}

void Cache::set_size(uint64_t bytes) {
    index_ = Modulo(bytes / kLineBytes / ways_);
    clear();
}

// Brings the set up to date with clear().
uint64_t Cache::set_of(uint64_t line) {
    const uint64_t set = index_.remainder(line);
    if (sets_[set].epoch != epoch_) sets_[set] = {epoch_, 0};
    return set;
}

CacheLine& Cache::find_or_replace(uint64_t line, uint32_t& evicted_dirty) {
    evicted_dirty = 0;
    const uint64_t set = set_of(line);
    CacheLine* found = find(set, line);
    return found != nullptr ? *found : replace(set, line, evicted_dirty);
}

CacheLine* Cache::find(uint64_t set, uint64_t line) {
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

CacheLine& Cache::replace(uint64_t set, uint64_t line, uint32_t& evicted_dirty) {
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

void Cache::prefetch(uint64_t line) const {
    const CacheLine* first = &lines_[index_.remainder(line) * ways_];
    constexpr uint32_t step = 64 / sizeof(CacheLine);
    for (uint32_t way = 0; way < ways_; way += step) __builtin_prefetch(first + way, 1);
}

}  // namespace kernelpoint::fast_model
