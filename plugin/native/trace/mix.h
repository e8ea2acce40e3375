// One mixer for every hash that spreads numbers.
#pragma once

#include <cstdint>

namespace kernelpoint {

// Hash of one number: the finaliser of MurmurHash3 (Austin Appleby, public domain). Each bit of the result depends on
// each bit of x.
inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
    return x ^ x >> 33;
}

}  // namespace kernelpoint
