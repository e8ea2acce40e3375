// Remainders by a divisor that is fixed: a multiplication instead of a division.
#pragma once

#include <cstdint>

namespace kernelpoint::fast_model {

class Modulo {
public:
    explicit Modulo(uint64_t divisor)
        : divisor_(divisor),
          shift_((divisor & (divisor - 1)) == 0 ? __builtin_ctzll(divisor) : -1),
          inverse_(UINT64_MAX / divisor) {}

    uint64_t divisor() const { return divisor_; }
    uint64_t quotient(uint64_t value) const {
        if (shift_ >= 0) return value >> shift_;
        // The inverse is too small by less than two parts in 2^64: the product is right or one too small.
        const auto guess = static_cast<uint64_t>((static_cast<unsigned __int128>(value) * inverse_) >> 64);
        return guess + (value - guess * divisor_ >= divisor_ ? 1 : 0);
    }
    uint64_t remainder(uint64_t value) const { return value - quotient(value) * divisor_; }

private:
    uint64_t divisor_;
    int shift_;
    uint64_t inverse_;
};

}  // namespace kernelpoint::fast_model
