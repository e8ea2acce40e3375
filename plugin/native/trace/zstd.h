// The system's libzstd, loaded when it is first needed: neither its headers nor the library are needed to build or to
// read plain traces. The declarations follow its published, stable C interface (libzstd 1.4 and later).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kernelpoint {

struct ZstdIn {  // ZSTD_inBuffer
    const void* source;
    size_t size, position;
};
struct ZstdOut {  // ZSTD_outBuffer
    void* destination;
    size_t size, position;
};

struct Zstd {
    enum { window_log_max = 100, reset_session = 1 };
    static constexpr unsigned long long unknown_size = 0ULL - 1, not_a_frame = 0ULL - 2;
    void* (*create)();
    size_t (*destroy)(void*);
    size_t (*set_parameter)(void*, int parameter, int value);
    size_t (*reset)(void*, int what);
    size_t (*use_dictionary)(void*, const void* dictionary);
    void* (*create_dictionary)(const void* bytes, size_t size);
    size_t (*destroy_dictionary)(void*);
    size_t (*decompress)(void*, ZstdOut*, ZstdIn*);
    unsigned long long (*content_size)(const void* bytes, size_t size);
    unsigned (*is_error)(size_t);
    const char* (*error_name)(size_t);

    // Throws std::runtime_error that names the package where the library is missing.
    static const Zstd& get();

private:
    Zstd();
};

// One frame of `text`, with its content size in its header; `dictionary` may be empty. Throws std::runtime_error.
std::string compress_zstd(std::string_view text, std::string_view dictionary, int level);
// A dictionary of at most `size` bytes for texts like the samples; empty where there are too few to learn from.
std::string train_zstd_dictionary(const std::vector<std::string>& samples, size_t size);

}  // namespace kernelpoint
