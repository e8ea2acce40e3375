#include "fast_model/coalescer.h"

#include <algorithm>

#include "fast_model/config.h"

namespace kernelpoint::fast_model {
namespace {

constexpr uint32_t kBanks = 32, kBankBytes = 4;

constexpr uint64_t kSectorsPerLine = kLineBytes / kSectorBytes;

// Finds a line among those touched before: addresses that only grow need no search, others a small hash table.
class Touched {
public:
    explicit Touched(std::vector<LineAccess>& lines) : lines_(lines) { lines_.clear(); }

    void add(uint64_t sector) {
        const uint64_t line = sector / kSectorsPerLine;
        const uint64_t bit = uint64_t{1} << (sector % kSectorsPerLine);
        if (!lines_.empty() && lines_.back().line == line) {
            lines_.back().sectors |= bit;
        } else if (lines_.empty() || line > greatest_) {
            greatest_ = line;
            lines_.push_back({line, bit});
        } else {
            search(line, bit);
        }
    }

private:
    void search(uint64_t line, uint64_t bit) {
        if (lines_.size() > kSlots / 2) return search_all(line, bit);
        for (; entered_ < lines_.size(); ++entered_)
            slot_of(lines_[entered_].line) = static_cast<uint8_t>(entered_ + 1);
        uint8_t& slot = slot_of(line);
        if (slot == 0) {
            lines_.push_back({line, bit});
        } else {
            lines_[slot - 1].sectors |= bit;
        }
    }
    // The slot that holds the line, or the free one where it belongs.
    uint8_t& slot_of(uint64_t line) {
        uint64_t i = (line ^ (line >> 6) ^ (line >> 12)) % kSlots;
        while (slots_[i] != 0 && lines_[slots_[i] - 1].line != line) i = (i + 1) % kSlots;
        return slots_[i];
    }
    void search_all(uint64_t line, uint64_t bit) {
        for (auto it = lines_.rbegin(); it != lines_.rend(); ++it) {
            if (it->line != line) continue;
            it->sectors |= bit;
            return;
        }
        lines_.push_back({line, bit});
    }

    static constexpr size_t kSlots = 128;
    std::vector<LineAccess>& lines_;
    uint64_t greatest_ = 0;
    size_t entered_ = 0;  // lines that are in the table
    uint8_t slots_[kSlots] = {};
};

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
    Touched touched(lines);
    width = std::max(width, 1u);
    uint64_t previous = UINT64_MAX;
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t first = addresses[i] / kSectorBytes, last = (addresses[i] + width - 1) / kSectorBytes;
        for (uint64_t sector = first; sector <= last; ++sector) {
            if (sector != previous) touched.add(sector);
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
