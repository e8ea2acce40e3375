// The system's libzstd (1.4 and later).
#pragma once

#include <cstddef>

#include "native/trace/library.h"

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

    const Library library{"libzstd.so.1", "libzstd1 (libzstd on Red Hat systems)"};
    void* (*const create)() = library["ZSTD_createDCtx"];
    size_t (*const destroy)(void*) = library["ZSTD_freeDCtx"];
    size_t (*const set_parameter)(void*, int parameter, int value) = library["ZSTD_DCtx_setParameter"];
    size_t (*const reset)(void*, int what) = library["ZSTD_DCtx_reset"];
    size_t (*const use_dictionary)(void*, const void* dictionary) = library["ZSTD_DCtx_refDDict"];
    void* (*const create_dictionary)(const void* bytes, size_t size) = library["ZSTD_createDDict"];
    size_t (*const destroy_dictionary)(void*) = library["ZSTD_freeDDict"];
    size_t (*const decompress)(void*, ZstdOut*, ZstdIn*) = library["ZSTD_decompressStream"];
    unsigned long long (*const content_size)(const void* bytes, size_t size) = library["ZSTD_getFrameContentSize"];
    unsigned (*const is_error)(size_t) = library["ZSTD_isError"];
    const char* (*const error_name)(size_t) = library["ZSTD_getErrorName"];
};

}  // namespace kernelpoint
