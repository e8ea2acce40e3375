// State that MacSim's cores keep between launches and that the training of a branch predictor depends on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "native/replay/sm_states.h"

namespace kernelpoint::replay::macsim {

// A gshare branch predictor: two-bit counters, indexed by the last branches XOR the branch's address. The second bit
// predicts a taken branch.
struct Gshare {
    uint32_t history = 0;  // the last branch in the highest bit, as predicted; taken: 1
    uint32_t history_bits = 0;
    uint8_t most = 0;  // of a counter; they begin with it
    std::vector<uint8_t> counters;

    Gshare() = default;
    explicit Gshare(const PredictorInfo& info)
        : history_bits(info.history_bits),
          most(static_cast<uint8_t>((1u << info.counter_bits) - 1)),
          counters(std::size_t{1} << info.history_bits, most) {}

    bool learns() const { return history_bits != 0; }
    uint8_t& counter(uint32_t of_history, uint64_t pc) {
        const uint32_t past = history_bits == 0 ? 0 : of_history >> (32 - history_bits);
        return counters[(past ^ pc >> 2) & (counters.size() - 1)];
    }
};

// Tags of a set-associative cache with least recently used replacement.
class LineSet {
public:
    LineSet(uint32_t sets, uint32_t ways) : sets_(sets), ways_(ways), tags_(std::size_t{sets} * ways), used_(tags_.size()) {}

    // Uses a line: true if it was there. Afterwards it is there, as the last used.
    bool use(uint64_t line) {
        const std::size_t first = line % sets_ * ways_;
        std::size_t oldest = first;
        ++now_;
        for (std::size_t way = first; way < first + ways_; ++way) {
            if (used_[way] != 0 && tags_[way] == line) return used_[way] = now_, true;
            if (used_[way] < used_[oldest]) oldest = way;
        }
        tags_[oldest] = line;
        used_[oldest] = now_;
        return false;
    }

    // Number of uses so far.
    uint32_t uses() const { return now_; }

    // Lines in the cache, last used at the end, without those last used in the first `uses` uses.
    std::vector<uint64_t> lines(uint32_t uses = 0) const {
        std::vector<std::pair<uint32_t, uint64_t>> found;
        for (std::size_t way = 0; way < tags_.size(); ++way)
            if (used_[way] > uses) found.emplace_back(used_[way], tags_[way]);
        std::sort(found.begin(), found.end());
        std::vector<uint64_t> all;
        for (const auto& [used, line] : found) all.push_back(line);
        return all;
    }

private:
    uint32_t sets_, ways_;
    std::vector<uint64_t> tags_;
    std::vector<uint32_t> used_;  // 0: empty
    uint32_t now_ = 0;
};

constexpr uint64_t kFetchBytes = 64;  // of a line of the instruction cache

// Number of the last-level line with code at an address; lines of data have other numbers.
inline uint64_t code_line(uint64_t address) {
    return uint64_t{1} << 56 | address / 128;
}

inline bool is_code(uint64_t line) {
    return (line >> 56 & 1) != 0;
}

struct SmState {
    Gshare predictor;
    uint32_t phase = 0;              // cycles since the schedulers' last turn where the core stopped, below four
    uint32_t scheduler = 0;          // the one that is first at the next turn, counted from that of the next warp
    LineSet l1, instructions{8, 8};  // lines of 128 and kFetchBytes; Model: code as MacSim's shipped parameters have it

    explicit SmState(const SmInfo& sms) : predictor(sms.predictor), l1(sms.caches.l1_sets, sms.caches.l1_ways) {}
};

}  // namespace kernelpoint::replay::macsim
