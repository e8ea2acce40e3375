// Numbers as bytes, small ones in few.
#pragma once

#include <cstdint>
#include <string>

namespace kernelpoint::replay {

// Appends a number with seven bits in each byte, low bits first.
inline void put(std::string& bytes, uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
    bytes += static_cast<char>(number);
}

class Bytes {
public:
    explicit Bytes(const std::string& bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

    // Reads a number; false if the bytes end before it does.
    bool get(uint64_t& number) {
        number = 0;
        for (uint32_t shift = 0; at_ != end_ && shift < 64; shift += 7) {
            const auto byte = static_cast<uint8_t>(*at_++);
            number |= uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) return true;
        }
        return false;
    }
    bool ended() const { return at_ == end_; }

private:
    const char *at_, *end_;
};

// Maps signed differences to unsigned numbers, small ones to small ones.
inline uint64_t fold(int64_t difference) {
    return (static_cast<uint64_t>(difference) << 1) ^ static_cast<uint64_t>(difference >> 63);
}

inline int64_t unfold(uint64_t folded) {
    return static_cast<int64_t>(folded >> 1) ^ -static_cast<int64_t>(folded & 1);
}

}  // namespace kernelpoint::replay
