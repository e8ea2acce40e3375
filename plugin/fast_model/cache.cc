#include "fast_model/cache.h"

#include <algorithm>

#include "fast_model/config.h"

namespace kernelpoint::fast_model {
namespace {
constexpr uint64_t kNoTag = UINT64_MAX;
}

Cache::Cache(uint64_t bytes, uint32_t ways)
    : ways_(ways),
      sets_(bytes / kLineBytes / ways),
      tags_(sets_ * ways, kNoTag),
      last_uses_(sets_ * ways, 0),
      lines_(sets_ * ways) {}

CacheLine* Cache::find(uint64_t line) {
    const uint64_t first = first_of_set(line);
    for (uint64_t i = first; i < first + ways_; ++i) {
        if (tags_[i] == line) {
            last_uses_[i] = ++uses_;
            return &lines_[i];
        }
    }
    return nullptr;
}

CacheLine& Cache::find_or_replace(uint64_t line, uint32_t& evicted_dirty) {
    evicted_dirty = 0;
    if (CacheLine* found = find(line)) return *found;
    const uint64_t first = first_of_set(line);
    uint64_t victim = first;
    for (uint64_t i = first + 1; i < first + ways_; ++i) {
        if (last_uses_[i] < last_uses_[victim]) victim = i;
    }
    evicted_dirty = count_sectors(lines_[victim].dirty);
    ++replacements_;
    tags_[victim] = line;
    lines_[victim] = CacheLine{};
    last_uses_[victim] = ++uses_;
    return lines_[victim];
}

void Cache::displace(uint64_t lines) {
    for (uint64_t set = 0; set < sets_; ++set) {
        const uint64_t first = set * ways_;
        const uint64_t unused = std::count(last_uses_.begin() + first, last_uses_.begin() + first + ways_, 0);
        const uint64_t brought = std::min<uint64_t>(ways_, lines / sets_ + (set < lines % sets_));
        for (uint64_t n = unused; n < brought; ++n) {
            uint64_t oldest = first;
            for (uint64_t i = first; i < first + ways_; ++i) {
                if (last_uses_[i] && (!last_uses_[oldest] || last_uses_[i] < last_uses_[oldest])) oldest = i;
            }
            last_uses_[oldest] = 0;  // the tag stays: see replacements()
            lines_[oldest] = CacheLine{};
        }
    }
}

void Cache::clear() {
    if (uses_ == uses_at_clear_) return;
    uses_at_clear_ = uses_;
    std::fill(tags_.begin(), tags_.end(), kNoTag);
    std::fill(last_uses_.begin(), last_uses_.end(), 0);
    std::fill(lines_.begin(), lines_.end(), CacheLine{});
}

}  // namespace kernelpoint::fast_model
