// Numbers that depend on a launch's index only: the same in every process and for every sample.
#pragma once

#include <stdint.h>

namespace kernelpoint {

// Random number generator SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
class Draws {
public:
    explicit Draws(uint64_t launch) : m_state(launch * 0xD1342543DE82EF95u) {}

    unsigned below(unsigned limit) { return limit == 0 ? 0 : static_cast<unsigned>(next() % limit); }
    double below_one() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }

private:
    uint64_t next() {
        uint64_t z = m_state += 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    uint64_t m_state;
};

}  // namespace kernelpoint
