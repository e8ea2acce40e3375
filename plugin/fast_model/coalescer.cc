#include "fast_model/coalescer.h"

#include <algorithm>

#include "fast_model/config.h"

namespace kernelpoint::fast_model {
namespace {

constexpr uint32_t kBanks = 32, kBankBytes = 4;

void touch(uint64_t sector, std::vector<LineAccess>& lines) {
    constexpr uint64_t sectors_per_line = kLineBytes / kSectorBytes;
    const uint64_t line = sector / sectors_per_line;
    const auto bit = static_cast<uint8_t>(1u << (sector % sectors_per_line));
    for (auto it = lines.rbegin(); it != lines.rend(); ++it) {
        if (it->line == line) {
            it->sectors |= bit;
            return;
        }
    }
    lines.push_back({line, bit});
}

// The distinct words met so far, by bank.
class Banks {
public:
    void touch(uint64_t word) {
        const uint32_t bank = word % kBanks;
        for (uint32_t i = 0; i < counts_[bank]; ++i) {
            if (words_[bank][i] == word) return;
        }
        words_[bank][counts_[bank]++] = word;
    }
    uint32_t most_words() const { return *std::max_element(counts_, counts_ + kBanks); }

private:
    // A group of lanes touches at most 32 words, whatever their width.
    uint64_t words_[kBanks][kWarpSize];
    uint8_t counts_[kBanks] = {};
};

}  // namespace

void coalesce(const uint64_t* addresses, uint32_t count, uint32_t width, std::vector<LineAccess>& lines) {
    lines.clear();
    width = std::max(width, 1u);
    uint64_t previous = UINT64_MAX;
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t first = addresses[i] / kSectorBytes, last = (addresses[i] + width - 1) / kSectorBytes;
        for (uint64_t sector = first; sector <= last; ++sector) {
            if (sector != previous) touch(sector, lines);
            previous = sector;
        }
    }
}

BankPasses count_bank_passes(const uint64_t* addresses, uint32_t count, uint32_t width) {
    const uint32_t words_per_lane = std::clamp((width + kBankBytes - 1) / kBankBytes, 1u, kBanks);
    const uint32_t lanes_per_group = kBanks / words_per_lane;
    BankPasses result;
    for (uint32_t begin = 0; begin < count; begin += lanes_per_group) {
        Banks banks;
        for (uint32_t i = begin; i < std::min(count, begin + lanes_per_group); ++i) {
            for (uint32_t w = 0; w < words_per_lane; ++w) banks.touch(addresses[i] / kBankBytes + w);
        }
        result.passes += banks.most_words();
        result.conflicts += banks.most_words() - 1;
    }
    return result;
}

}  // namespace kernelpoint::fast_model
