// Numbers in trace text. Every text parsed here ends with a line feed, so the loops need no other end.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace kernelpoint {

inline bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}
inline void skip_blanks(const char*& p) {
    while (is_blank(*p)) ++p;
}
inline bool ends_token(char c) {
    return c == '\n' || is_blank(c);
}

constexpr std::array<int8_t, 256> hex_values() {
    std::array<int8_t, 256> values{};
    for (auto& v : values) v = -1;
    for (int i = 0; i < 10; ++i) values['0' + i] = static_cast<int8_t>(i);
    for (int i = 0; i < 6; ++i) values['a' + i] = values['A' + i] = static_cast<int8_t>(10 + i);
    return values;
}
inline constexpr std::array<int8_t, 256> hex_value = hex_values();

// Parses a number after blanks and moves `p` behind it; false if there is no number or it does not fit.
template <typename Number>
inline bool parse_hex(const char*& p, Number& number) {
    skip_blanks(p);
    const char* start = p;
    Number value = 0;
    for (int digit; (digit = hex_value[static_cast<unsigned char>(*p)]) >= 0; ++p)
        value = static_cast<Number>(value << 4) | static_cast<Number>(digit);
    number = value;
    const auto digits = static_cast<size_t>(p - start);
    return digits > 0 && digits <= 2 * sizeof(Number) && ends_token(*p);
}

inline bool parse_address(const char*& p, uint64_t& address) {
    skip_blanks(p);
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) p += 2;
    return parse_hex(p, address);
}

template <typename Number>
inline bool parse_decimal(const char*& p, Number& number) {
    skip_blanks(p);
    const char* start = p;
    uint64_t value = 0;
    for (unsigned digit; (digit = static_cast<unsigned char>(*p) - unsigned{'0'}) <= 9; ++p) {
        if (p - start >= 19) return false;
        value = value * 10 + digit;
    }
    number = static_cast<Number>(value);
    return p != start && number == value && ends_token(*p);
}

inline bool parse_signed(const char*& p, int64_t& number) {
    skip_blanks(p);
    const bool negative = *p == '-';
    if (negative) ++p;
    if (ends_token(*p)) return false;
    uint64_t magnitude = 0;
    if (!parse_decimal(p, magnitude)) return false;
    number = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
    return true;
}

// True if `size` bytes at `a` and `b` are equal. Inlined, because a call of memcmp costs more than the comparison.
inline bool same_text(const char* a, const char* b, size_t size) {
    uint64_t x, y;
    for (; size >= 8; size -= 8, a += 8, b += 8) {
        std::memcpy(&x, a, 8);
        std::memcpy(&y, b, 8);
        if (x != y) return false;
    }
    return std::memcmp(a, b, size) == 0;
}

}  // namespace kernelpoint
