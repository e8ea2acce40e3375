// Memory sectors touched by one warp-wide access.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kernelpoint {

constexpr unsigned sector_bits = 5;  // 32 bytes

// Counts the different sectors, with room for `count` sectors at `firsts` and `ends`.
inline uint32_t count_sectors(const uint64_t* addresses, size_t count, uint32_t width, uint64_t* firsts, uint64_t* ends) {
    bool ascending = true;
    for (size_t i = 0; i < count; ++i) {
        firsts[i] = addresses[i] >> sector_bits;
        ascending &= i == 0 || firsts[i - 1] <= firsts[i];
    }
    if (!ascending) std::sort(firsts, firsts + count);
    // A wide access may reach into further sectors. All have the same width, so in order of their start each one's
    // new sectors begin behind the last one seen.
    uint32_t sectors = 0;
    uint64_t next = 0;  // the first sector not counted yet
    const uint64_t straddle = width > 0 ? width - 1 : 0;
    for (size_t i = 0; i < count; ++i) ends[i] = (addresses[i] + straddle) >> sector_bits;
    if (!ascending) std::sort(ends, ends + count);
    for (size_t i = 0; i < count; ++i) {
        const uint64_t begin = std::max(firsts[i], next);
        if (ends[i] >= begin) {
            sectors += static_cast<uint32_t>(ends[i] - begin + 1);
            next = ends[i] + 1;
        }
    }
    return sectors;
}

// Counts the different sectors in [a, a + width) over all addresses a. Warps have at most 32 addresses, bulk copies
// any number.
inline uint32_t count_sectors(const uint64_t* addresses, size_t count, uint32_t width) {
    uint64_t few[64];
    if (count <= 32) return count_sectors(addresses, count, width, few, few + 32);
    std::vector<uint64_t> many(2 * count);
    return count_sectors(addresses, count, width, many.data(), many.data() + count);
}

}  // namespace kernelpoint
