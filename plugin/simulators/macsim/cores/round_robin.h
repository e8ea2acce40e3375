// Whose turn it is among warps that are numbered from 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kernelpoint::replay::macsim {

// A set of small numbers that gives the next one in turn.
class RoundRobin {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    size_t count() const { return numbers_.size(); }
    auto begin() const { return numbers_.begin(); }
    auto end() const { return numbers_.end(); }
    void add(uint32_t number) { numbers_.insert(std::lower_bound(numbers_.begin(), numbers_.end(), number), number); }
    void remove(uint32_t number) { numbers_.erase(std::lower_bound(numbers_.begin(), numbers_.end(), number)); }

    // Smallest number that is at least `from`, else the smallest of all; kNone if the set is empty.
    uint32_t next(uint32_t from) const {
        if (numbers_.empty()) return kNone;
        const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), from);
        return found != numbers_.end() ? *found : numbers_.front();
    }

private:
    std::vector<uint32_t> numbers_;  // ascending
};

}  // namespace kernelpoint::replay::macsim
