// One mixer for every hash that spreads numbers.
#pragma once

#include <cstdint>
#include <string>

namespace kernelpoint {

// Hash of one number: the finaliser of MurmurHash3 (Austin Appleby, public domain). Each bit of the result depends on
// each bit of x.
inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
    return x ^ x >> 33;
}

// The 128-bit hash that says when two launches run the same stream.

struct StreamHash {
    uint64_t high = 0, low = 0;
    bool operator==(const StreamHash& other) const { return high == other.high && low == other.low; }
    std::string hex() const;  // 32 digits
};

// Hash of an instruction sequence: MurmurHash3 x64 128 (Austin Appleby, public domain), fed 16 bytes at a time. Not
// cryptographic: by accident two of a million different streams collide with a probability of about 1e-27; an
// adversary could make them collide.
class StreamHasher {
public:
    void add(uint64_t first, uint64_t second) {
        first = rotate(first * factor1, 31) * factor2;
        high_ = (rotate(high_ ^ first, 27) + low_) * 5 + 0x52dce729;
        second = rotate(second * factor2, 33) * factor1;
        low_ = (rotate(low_ ^ second, 31) + high_) * 5 + 0x38495ab5;
        ++count_;
    }
    StreamHash finish() const {
        uint64_t high = high_ ^ (count_ * 16), low = low_ ^ (count_ * 16);
        high += low;
        low += high;
        high = mix(high);
        low = mix(low);
        high += low;
        low += high;
        return {high, low};
    }

private:
    static constexpr uint64_t factor1 = 0x87c37b91114253d5, factor2 = 0x4cf5ad432745937f;
    static uint64_t rotate(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }
    uint64_t high_ = 0, low_ = 0, count_ = 0;
};

}  // namespace kernelpoint
