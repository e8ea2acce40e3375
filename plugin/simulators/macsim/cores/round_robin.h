// Whose turn it is among warps that are numbered from 0.
#pragma once

#include <cstdint>
#include <vector>

namespace kernelpoint::replay::macsim {

// A set of numbers, and the next of them in turn.
class RoundRobin {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    uint32_t count() const { return count_; }
    bool holds(uint32_t number) const {
        return number / 64 < words_.size() && (words_[number / 64] >> number % 64 & 1) != 0;
    }

    // A number that is not in it.
    void add(uint32_t number) {
        if (number / 64 >= words_.size()) words_.resize(number / 64 + 1);
        words_[number / 64] |= uint64_t{1} << number % 64;
        ++count_;
        if (number / 64 < first_) first_ = number / 64;
    }

    // A number that is in it.
    void remove(uint32_t number) {
        words_[number / 64] &= ~(uint64_t{1} << number % 64);
        --count_;
        while (first_ < words_.size() && words_[first_] == 0) ++first_;
    }

    // The least number from `from` on, else the least of all; kNone where there is none.
    uint32_t next(uint32_t from) const {
        const size_t word = from / 64;
        if (word < words_.size()) {
            const uint64_t rest = words_[word] >> from % 64;
            if (rest != 0) return from + lowest(rest);
        }
        const uint32_t later = first_in(word + 1);
        return later != kNone ? later : first_in(first_);
    }

private:
    static uint32_t lowest(uint64_t bits) { return static_cast<uint32_t>(__builtin_ctzll(bits)); }

    // The least number in this word or a later one.
    uint32_t first_in(size_t word) const {
        for (; word < words_.size(); ++word)
            if (words_[word] != 0) return static_cast<uint32_t>(word * 64) + lowest(words_[word]);
        return kNone;
    }

    std::vector<uint64_t> words_;
    size_t first_ = 0;  // all words before it are 0
    uint32_t count_ = 0;
};

}  // namespace kernelpoint::replay::macsim
